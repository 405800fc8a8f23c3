/* Crashes in a thread of its own, which nobody can return from. */

#include <pthread.h>
#include <stdlib.h>
#include "right.h"

static void* crash(void* argument) {
  abort();
  return argument;
}

int drift_plugin_describe(struct drift_plugin_info* info) { return describe_as(info, "crashes-in-thread"); }

int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes) {
  (void)message;
  (void)message_bytes;
  pthread_t thread;
  (void)call;
  if (pthread_create(&thread, NULL, crash, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  return 0;
}
