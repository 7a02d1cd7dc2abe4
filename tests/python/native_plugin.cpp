// SPDX-License-Identifier: Apache-2.0
// A library that native_program loads after it has read frames once.

extern "C" __attribute__((noinline, noclone)) void plugin_step(void (*allocate)(unsigned long)) {
  allocate(128);  // line in the plugin
  __asm__ volatile("");
}
