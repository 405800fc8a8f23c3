// A plug-in in C++ that lets an exception out.

#include <stdexcept>

#include "right.h"

int drift_plugin_describe(drift_plugin_info* info) { return describe_as(info, "throws"); }

int drift_plugin_log_prob(const drift_plugin_call*, char*, std::size_t) {
  throw std::runtime_error("no such tile");
}
