// drift-audit: are these log-probs right, and if not, where, by how much and why?

#include <unistd.h>

#include "drift-audit/commands.hpp"

int main(int argc, char** argv) {
  drift::prepare_streams();
  return drift::run_program(drift::this_process(argc, argv, environ));
}
