// SPDX-License-Identifier: Apache-2.0
// A plugin for tests: the one at REAL with the extensions that act on a client's devices, which no plugin has that runs here. They are written
// against the C API by itself, so that the layouts and the order of calls of the Java side meet a C compiler's. Arrays "between
// hosts" go between the devices of the one client.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pjrt_c_api.h"

static const PJRT_Api* real;
static long allocations;
long live_allocations(void) { return allocations; }

static void* address_of(PJRT_Buffer* buffer) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args = {.struct_size = sizeof args, .buffer = buffer};
  return real->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args) ? NULL : args.device_memory_ptr;
}

static size_t size_of(PJRT_Buffer* buffer) {
  PJRT_Buffer_OnDeviceSizeInBytes_Args args = {.struct_size = sizeof args, .buffer = buffer};
  return real->PJRT_Buffer_OnDeviceSizeInBytes(&args) ? 0 : args.on_device_size_in_bytes;
}

static PJRT_Event* ready(PJRT_Buffer* buffer) {
  PJRT_Buffer_ReadyEvent_Args args = {.struct_size = sizeof args, .buffer = buffer};
  return real->PJRT_Buffer_ReadyEvent(&args) ? NULL : args.event;
}

static PJRT_Error* some_error(PJRT_Client* client) {
  PJRT_Client_LookupDevice_Args args = {.struct_size = sizeof args, .client = client, .id = -1};
  return real->PJRT_Client_LookupDevice(&args);
}

static void drop_error(PJRT_Error* error) {
  PJRT_Error_Destroy_Args args = {.struct_size = sizeof args, .error = error};
  real->PJRT_Error_Destroy(&args);
}

typedef struct { size_t struct_size; int type; void* next; } Base;

// Raw buffers: a PJRT_RawBuffer is the buffer itself.
typedef struct { size_t struct_size; void* ext; PJRT_Buffer* buffer; PJRT_Buffer* raw; } RawCreate;
typedef struct { size_t struct_size; void* ext; PJRT_Buffer* raw; size_t size; } RawSize;
typedef struct { size_t struct_size; void* ext; PJRT_Buffer* raw; void* pointer; } RawPointer;
typedef struct { size_t struct_size; void* ext; PJRT_Buffer* raw; void* host; int64_t offset, size; PJRT_Event* event; } RawCopy;
static PJRT_Error* raw_create(RawCreate* a) { allocations++; a->raw = a->buffer; return NULL; }
static PJRT_Error* raw_destroy(RawCreate* a) { allocations--; return NULL; }
static PJRT_Error* raw_size(RawSize* a) { a->size = size_of(a->raw); return NULL; }
static PJRT_Error* raw_host(RawPointer* a) { a->pointer = address_of(a->raw); return NULL; }
static PJRT_Error* raw_memory(RawPointer* a) {
  PJRT_Buffer_Memory_Args args = {.struct_size = sizeof args, .buffer = a->raw};
  PJRT_Error* error = real->PJRT_Buffer_Memory(&args);
  a->pointer = args.memory;
  return error;
}
static PJRT_Error* raw_write(RawCopy* a) {
  memcpy((char*)address_of(a->raw) + a->offset, a->host, a->size);
  a->event = ready(a->raw);
  return NULL;
}
static PJRT_Error* raw_read(RawCopy* a) {
  memcpy(a->host, (char*)address_of(a->raw) + a->offset, a->size);
  a->event = ready(a->raw);
  return NULL;
}

// Transfers. By keys, what is sent is remembered and copied when it is received; by descriptors, which are numbers in a table.
static struct { int64_t key; int32_t device; PJRT_Buffer* buffer; } sent[16];
static int sent_count;
static PJRT_Buffer* awaited[16];
static int awaited_count;
typedef struct {
  size_t struct_size; void* ext; PJRT_Client* client; size_t count; PJRT_Buffer** buffers; const int32_t* devices;
  const int64_t* keys; PJRT_Event** events;
} Send;
typedef struct {
  size_t struct_size; void* ext; PJRT_Client* client; size_t count; size_t* ranks; const int64_t** dims; PJRT_Buffer_Type* types;
  PJRT_Buffer_MemoryLayout** layouts; PJRT_Device* device; const int32_t* devices; const int64_t* keys; PJRT_Buffer** buffers;
} Receive;
typedef void (*Cancel)(void);
typedef void (*Notifier)(PJRT_Error*, const char**, size_t*, size_t, void*, Cancel, void*);
typedef struct {
  size_t struct_size; void* ext; PJRT_Client* client; size_t count; size_t* ranks; const int64_t** dims; PJRT_Buffer_Type* types;
  PJRT_Buffer_MemoryLayout** layouts; PJRT_Device* device; void* notifier_arg; Notifier notifier; PJRT_Buffer** buffers;
  size_t made; bool allow_cancel;
} Expect;
typedef struct {
  size_t struct_size; void* ext; PJRT_Buffer* buffer; PJRT_Event* event; char** data; size_t* size; void* done_arg;
  void (*done)(PJRT_Error*, bool, void*); void (*destroy)(char**, size_t*);
} CopyTo;
static PJRT_Error* transfer_send(Send* a) {
  for (size_t i = 0; i < a->count; i++) {
    sent[sent_count].key = a->keys[i];
    sent[sent_count].device = a->devices[i];
    sent[sent_count++].buffer = a->buffers[i];
    a->events[i] = ready(a->buffers[i]);
  }
  return NULL;
}
static int32_t id_of(PJRT_Device* device) {
  PJRT_Device_GetDescription_Args d = {.struct_size = sizeof d, .device = device};
  real->PJRT_Device_GetDescription(&d);
  PJRT_DeviceDescription_Id_Args args = {.struct_size = sizeof args, .device_description = d.device_description};
  real->PJRT_DeviceDescription_Id(&args);
  return args.id;
}
static PJRT_Error* transfer_receive(Receive* a) {
  for (size_t i = 0; i < a->count; i++) {
    PJRT_Buffer* found = NULL;
    for (int s = 0; s < sent_count; s++)
      if (sent[s].key == a->keys[i] && sent[s].device == id_of(a->device)) found = sent[s].buffer;
    if (!found) return some_error(a->client);
    PJRT_Buffer_CopyToDevice_Args args = {.struct_size = sizeof args, .buffer = found, .dst_device = a->device};
    PJRT_Error* error = real->PJRT_Buffer_CopyToDevice(&args);
    if (error) return error;
    a->buffers[i] = args.dst_buffer;
  }
  return NULL;
}
static PJRT_Error* transfer_expect(Expect* a) {
  if (a->count > 4) return some_error(a->client);
  const char* texts[4];
  char memory[4][16];
  size_t sizes[4];
  for (size_t i = 0; i < a->count; i++) {
    PJRT_Client_CreateUninitializedBuffer_Args args = {
        .struct_size = sizeof args, .client = a->client, .shape_dims = a->dims[i], .shape_num_dims = a->ranks[i],
        .shape_element_type = a->types[i], .shape_layout = a->layouts[i], .device = a->device};
    PJRT_Error* error = real->PJRT_Client_CreateUninitializedBuffer(&args);
    if (error) return error;
    a->buffers[i] = awaited[awaited_count] = args.buffer;
    sizes[i] = sprintf(memory[i], "%d", awaited_count++);
    texts[i] = memory[i];
  }
  a->made = a->count;
  // Of three or more arrays the notifier is told an error.
  PJRT_Error* error = a->count > 2 ? some_error(a->client) : NULL;
  a->notifier(error, texts, sizes, error ? 0 : a->count, a->notifier_arg, NULL, NULL);
  if (error) drop_error(error);
  return NULL;
}
static void transfer_copy(CopyTo* a) {
  PJRT_Event_Await_Args await = {.struct_size = sizeof await, .event = a->event};
  real->PJRT_Event_Await(&await);
  char text[16] = {0};
  memcpy(text, *a->data, *a->size);
  int index = atoi(text);
  a->destroy(a->data, a->size);
  PJRT_Event_Destroy_Args destroy = {.struct_size = sizeof destroy, .event = a->event};
  real->PJRT_Event_Destroy(&destroy);
  bool known = index < awaited_count;
  if (known) memcpy(address_of(awaited[index]), address_of(a->buffer), size_of(a->buffer));
  a->done(NULL, known, a->done_arg);
}

// Callbacks.
static struct { int type; void (*function)(void*, void*); void* user; } listeners[16];
static int listener_count;
typedef struct { size_t struct_size; PJRT_Client* client; int type; void (*function)(void*, void*); void* user; } Listen;
typedef struct { size_t struct_size; PJRT_Client* client; int type; void* args; } Invoke;
static PJRT_Error* callback_register(Listen* a) {
  listeners[listener_count].type = a->type;
  listeners[listener_count].function = a->function;
  listeners[listener_count++].user = a->user;
  return NULL;
}
static PJRT_Error* callback_invoke(Invoke* a) {
  for (int i = 0; i < listener_count; i++)
    if (listeners[i].type == a->type) listeners[i].function(a->args, listeners[i].user);
  return NULL;
}

// Host memory, both ways. The node is written into the first bytes.
typedef struct { size_t struct_size; void* ext; PJRT_Client* client; size_t size, alignment; void* pointer; } OldAllocate;
typedef struct { size_t struct_size; void* ext; PJRT_Client* client; void* pointer; } OldFree;
typedef struct { size_t struct_size; void* ext; PJRT_Client* client; size_t alignment; } Alignment;
typedef struct {
  size_t struct_size; void* ext; PJRT_Client* client; size_t size; int node; uint8_t* pointer; void (*deleter)(void*, void*); void* arg;
} Allocate;
static PJRT_Error* host_alignment(Alignment* a) { a->alignment = 256; return NULL; }
static PJRT_Error* host_allocate_old(OldAllocate* a) { allocations++; return posix_memalign(&a->pointer, a->alignment, a->size) ? some_error(a->client) : NULL; }
static PJRT_Error* host_free_old(OldFree* a) { allocations--; free(a->pointer); return NULL; }
static void host_delete(void* pointer, void* arg) { if (arg == &allocations) allocations--; free(pointer); }
static PJRT_Error* host_allocate(Allocate* a) {
  allocations++;
  a->pointer = calloc(1, a->size < 4 ? 4 : a->size);
  memcpy(a->pointer, &a->node, sizeof a->node);
  a->deleter = host_delete;
  a->arg = &allocations;
  return NULL;
}

// Streams and Triton.
typedef struct { size_t struct_size; PJRT_Device* device; intptr_t stream; } GetStream;
typedef struct { size_t struct_size; intptr_t stream; PJRT_Buffer* buffer; } WaitStream;
static PJRT_Error* stream_get(GetStream* a) { a->stream = 4096 + id_of(a->device); return NULL; }
static PJRT_Error* stream_wait(WaitStream* a) { return a->stream == 4096 && size_of(a->buffer) ? NULL : some_error(NULL); }
typedef struct {
  size_t struct_size; const char* module; size_t module_size; const char* arch; size_t arch_size; int warps, ctas, stages;
  const char* assembly; size_t assembly_size; int64_t shared; const char* path; size_t path_size;
} Triton;
static PJRT_Error* triton(Triton* a) {
  char* text = malloc(256);
  a->assembly_size = sprintf(text, "%.*s for %.*s", (int)a->module_size, a->module, (int)a->arch_size, a->arch);
  a->assembly = text;
  a->shared = 100 * a->warps + 10 * a->ctas + a->stages;
  a->path = "";
  return NULL;
}

// Megascale: a context is any address, and its port the number of the client's devices.
typedef struct { size_t struct_size; PJRT_Client* client; PJRT_Client* context; } FromClient;
typedef struct { size_t struct_size; PJRT_Client* context; int32_t port; } Port;
static PJRT_Error* megascale_create(FromClient* a) { allocations++; a->context = a->client; return NULL; }
static PJRT_Error* megascale_delete(Port* a) { allocations--; return NULL; }
static PJRT_Error* megascale_port(Port* a) {
  PJRT_Client_Devices_Args args = {.struct_size = sizeof args, .client = a->context};
  PJRT_Error* error = real->PJRT_Client_Devices(&args);
  a->port = args.num_devices;
  return error;
}

#define TABLE(name, number, ...) static struct { Base base; void* slots[sizeof((void*[]){__VA_ARGS__}) / sizeof(void*)]; } name = { \
  {sizeof name, number, NULL}, {__VA_ARGS__}}
TABLE(stream, 3, stream_get, stream_wait);
TABLE(triton_table, 7, triton);
TABLE(raw, 8, raw_create, raw_destroy, raw_size, raw_memory, raw_write, raw_read, raw_host);
TABLE(transfers, 12, transfer_expect, transfer_copy, transfer_receive, transfer_send);
TABLE(callbacks, 14, callback_register, callback_invoke);
TABLE(old_allocator, 15, host_alignment, host_allocate_old, host_free_old);
TABLE(megascale, 18, megascale_create, NULL, megascale_delete, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, megascale_port);
TABLE(allocator, 23, host_allocate);

const PJRT_Api* GetPjrtApi(void) {
  static void* copy;
  if (!copy) {
    real = ((const PJRT_Api* (*)(void))dlsym(dlopen(REAL, RTLD_NOW | RTLD_LOCAL), "GetPjrtApi"))();
    copy = malloc(real->struct_size);
    memcpy(copy, real, real->struct_size);
#ifdef OLD
    Base* chain[] = {&old_allocator.base};
#else
    Base* chain[] = {&stream.base, &triton_table.base, &raw.base, &transfers.base, &callbacks.base, &megascale.base, &allocator.base};
#endif
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
      chain[i]->next = ((PJRT_Api*)copy)->extension_start;
      ((PJRT_Api*)copy)->extension_start = (PJRT_Extension_Base*)chain[i];
    }
  }
  return copy;
}
