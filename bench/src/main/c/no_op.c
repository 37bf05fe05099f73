// SPDX-License-Identifier: Apache-2.0
// Times PJRT_Buffer_IsOnCpu called from C, as RuntimeBenchmark.noOpCall does from Java.
// usage: no_op LIBRARY    (built against the pjrt_c_api.h that the plugin's package ships)
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pjrt_c_api.h"

static void check(const PJRT_Api* api, PJRT_Error* error) {
  if (!error) return;
  PJRT_Error_Message_Args args = {PJRT_Error_Message_Args_STRUCT_SIZE, NULL, error};
  api->PJRT_Error_Message(&args);
  fprintf(stderr, "%.*s\n", (int)args.message_size, args.message);
  _Exit(1);
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
  if (!library) return fprintf(stderr, "usage: no_op LIBRARY\n"), 2;
  const PJRT_Api* api = ((const PJRT_Api* (*)(void))dlsym(library, "GetPjrtApi"))();
  PJRT_Plugin_Initialize_Args init = {PJRT_Plugin_Initialize_Args_STRUCT_SIZE};
  check(api, api->PJRT_Plugin_Initialize(&init));
  PJRT_Client_Create_Args create = {PJRT_Client_Create_Args_STRUCT_SIZE};
  check(api, api->PJRT_Client_Create(&create));
  PJRT_Client_AddressableDevices_Args devices = {PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, NULL, create.client};
  check(api, api->PJRT_Client_AddressableDevices(&devices));
  float data[8] = {0};
  int64_t dims[] = {8};
  PJRT_Client_BufferFromHostBuffer_Args put = {PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE};
  put.client = create.client;
  put.data = data;
  put.type = PJRT_Buffer_Type_F32;
  put.dims = dims;
  put.num_dims = 1;
  put.device = devices.addressable_devices[0];
  check(api, api->PJRT_Client_BufferFromHostBuffer(&put));
  double best = 1e9;
  for (int round = 0; round < 10; round++) {
    struct timespec begin, end;
    const int count = 20000000;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < count; i++) {
      PJRT_Buffer_IsOnCpu_Args args;
      memset(&args, 0, sizeof args);
      args.struct_size = PJRT_Buffer_IsOnCpu_Args_STRUCT_SIZE;
      args.buffer = put.buffer;
      check(api, api->PJRT_Buffer_IsOnCpu(&args));
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ns = ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / count;
    if (ns < best) best = ns;
  }
  printf("{\"no_op_call\": %.2f}\n", best);
  fflush(stdout);
  _Exit(0);
}
