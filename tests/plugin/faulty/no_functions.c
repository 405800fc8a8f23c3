/* A shared object, but no plug-in. */

int a_function_of_another_library(void);
int a_function_of_another_library(void) { return 1; }
