/* A libOpenCL that forwards every call to the real one and fails the Nth of those that can fail.
 *
 * EXTSORT_TEST_FAULT=N    the call to fail, counted from 1; 0 or unset: none. Counting starts anew when N changes
 * EXTSORT_TEST_CODE=C     the error it gives; default -5, CL_OUT_OF_RESOURCES
 * EXTSORT_TEST_REPORT=F   file to which the name of the failed call is written
 *
 * The environment is looked at in every call, so that one process can go through all N. Releasing, and asking for
 * a platform's names, is not counted: nothing is to be done about failures of those.
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int calls, fault;
static void *library;

static int number(const char *variable, int otherwise) {
	const char *value = getenv(variable);
	return value ? atoi(value) : otherwise;
}

static void report(const char *what) {
	const char *path = getenv("EXTSORT_TEST_REPORT");
	FILE *f = path ? fopen(path, "w") : NULL;
	if (!f) return;
	fputs(what, f);
	fclose(f);
}

__attribute__((constructor)) static void begin(void) {
	library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
}

static int fails(const char *name) {
	int wanted = number("EXTSORT_TEST_FAULT", 0);
	if (atomic_exchange(&fault, wanted) != wanted) atomic_store(&calls, 0);
	if (atomic_fetch_add(&calls, 1) + 1 != wanted) return 0;
	report(name);
	return 1;
}

static int code(void) { return number("EXTSORT_TEST_CODE", -5); }

#define PASS(name, params, args)                                                              \
	CL_API_ENTRY cl_int CL_API_CALL name params {                                             \
		return ((cl_int(*) params)dlsym(library, #name))args;                                 \
	}
#define STATUS(name, params, args)                                                            \
	CL_API_ENTRY cl_int CL_API_CALL name params {                                             \
		return fails(#name) ? code() : ((cl_int(*) params)dlsym(library, #name))args;           \
	}
#define OBJECT(type, name, params, args)                                                      \
	CL_API_ENTRY type CL_API_CALL name params {                                               \
		if (!fails(#name)) return ((type(*) params)dlsym(library, #name))args;                \
		if (err) *err = code();                                                                 \
		return NULL;                                                                          \
	}
#define WAITS cl_uint n, const cl_event *w, cl_event *e
#define INFO size_t size, void *value, size_t *used

STATUS(clGetPlatformIDs, (cl_uint n, cl_platform_id *ids, cl_uint *count), (n, ids, count))
PASS(clGetPlatformInfo, (cl_platform_id p, cl_platform_info what, INFO), (p, what, size, value, used))
STATUS(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *ids, cl_uint *count), (p, t, n, ids, count))
STATUS(clGetDeviceInfo, (cl_device_id d, cl_device_info what, INFO), (d, what, size, value, used))
OBJECT(cl_context, clCreateContext, (const cl_context_properties *p, cl_uint n, const cl_device_id *d, void (*f)(const char *, const void *, size_t, void *), void *data, cl_int *err), (p, n, d, f, data, err))
PASS(clReleaseContext, (cl_context c), (c))
OBJECT(cl_command_queue, clCreateCommandQueue, (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err), (c, d, p, err))
PASS(clReleaseCommandQueue, (cl_command_queue q), (q))
STATUS(clFlush, (cl_command_queue q), (q))
STATUS(clFinish, (cl_command_queue q), (q))
OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err), (c, flags, size, host, err))
PASS(clReleaseMemObject, (cl_mem m), (m))
OBJECT(cl_program, clCreateProgramWithSource, (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *err), (c, n, s, l, err))
OBJECT(cl_program, clCreateProgramWithBinary, (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s, cl_int *err), (c, n, d, l, b, s, err))
STATUS(clBuildProgram, (cl_program p, cl_uint n, const cl_device_id *d, const char *o, void (*f)(cl_program, void *), void *data), (p, n, d, o, f, data))
STATUS(clGetProgramInfo, (cl_program p, cl_program_info what, INFO), (p, what, size, value, used))
STATUS(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info what, INFO), (p, d, what, size, value, used))
PASS(clReleaseProgram, (cl_program p), (p))
OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *err), (p, name, err))
STATUS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t size, const void *value), (k, i, size, value))
STATUS(clGetKernelInfo, (cl_kernel k, cl_kernel_info what, INFO), (k, what, size, value, used))
STATUS(clGetKernelArgInfo, (cl_kernel k, cl_uint i, cl_kernel_arg_info what, INFO), (k, i, what, size, value, used))
STATUS(clGetKernelWorkGroupInfo, (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, INFO), (k, d, what, size, value, used))
PASS(clReleaseKernel, (cl_kernel k), (k))
STATUS(clWaitForEvents, (cl_uint n, const cl_event *events), (n, events))
STATUS(clGetEventInfo, (cl_event v, cl_event_info what, INFO), (v, what, size, value, used))
STATUS(clGetEventProfilingInfo, (cl_event v, cl_profiling_info what, INFO), (v, what, size, value, used))
PASS(clReleaseEvent, (cl_event v), (v))
STATUS(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *h, WAITS), (q, m, b, o, s, h, n, w, e))
STATUS(clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *h, WAITS), (q, m, b, o, s, h, n, w, e))
STATUS(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem f, cl_mem t, size_t fo, size_t to, size_t s, WAITS), (q, f, t, fo, to, s, n, w, e))
STATUS(clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *p, size_t ps, size_t o, size_t s, WAITS), (q, m, p, ps, o, s, n, w, e))
OBJECT(void *, clEnqueueMapBuffer, (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS, cl_int *err), (q, m, b, f, o, s, n, w, e, err))
PASS(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *p, WAITS), (q, m, p, n, w, e))
STATUS(clEnqueueNDRangeKernel, (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l, WAITS), (q, k, d, o, g, l, n, w, e))
STATUS(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))
STATUS(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))
