//go:build opencl && cgo && linux

/* The functions of OpenCL that the binding and this package call, each forwarding to the library that dlopen finds.
 *
 * They have hidden visibility: they satisfy the linker, so that the binary does not need libOpenCL to start, and
 * the driver never sees them. Where there is no library every call fails with CL_PLATFORM_NOT_FOUND_KHR (-1001),
 * which is what an ICD loader says that knows no driver; the caller cannot tell one from the other and need not.
 */
#define _GNU_SOURCE /* secure_getenv */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)

enum { NOT_FOUND = -1001 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

static void load(void) {
	const char *name = secure_getenv("EXTSORT_OPENCL_LIBRARY");
	library = dlopen(name && *name ? name : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
}

static void *find(const char *symbol) {
	pthread_once(&once, load);
	return library ? dlsym(library, symbol) : NULL;
}

/* isInstalled tells whether there is a library. Loading it starts no driver: that clGetPlatformIDs does. */
int isInstalled(void) {
	pthread_once(&once, load);
	return library != NULL;
}

/* STATUS forwards a function that returns its error code. dlsym is asked once per function: the static pointer is
 * written by whichever thread is first, always with the same value. */
#define STATUS(name, params, args)                                                           \
	CL_API_ENTRY cl_int CL_API_CALL name params {                                            \
		static cl_int(CL_API_CALL *volatile real) params;                                    \
		if (!real) real = (cl_int(CL_API_CALL *) params)find(#name);                         \
		return real ? real args : NOT_FOUND;                                                 \
	}

/* OBJECT forwards a function that returns an object and puts the error code where its last argument points. */
#define OBJECT(type, name, params, args)                                                     \
	CL_API_ENTRY type CL_API_CALL name params {                                              \
		static type(CL_API_CALL *volatile real) params;                                      \
		if (!real) real = (type(CL_API_CALL *) params)find(#name);                           \
		if (real) return real args;                                                          \
		if (errcode) *errcode = NOT_FOUND;                                                   \
		return NULL;                                                                         \
	}

#define WAITS cl_uint waiting, const cl_event *waits, cl_event *event
#define WAITED waiting, waits, event

/* platforms and devices */
STATUS(clGetPlatformIDs, (cl_uint n, cl_platform_id *ids, cl_uint *count), (n, ids, count))
STATUS(clGetPlatformInfo, (cl_platform_id p, cl_platform_info what, size_t size, void *value, size_t *used),
       (p, what, size, value, used))
STATUS(clGetDeviceIDs, (cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count),
       (p, type, n, ids, count))
STATUS(clGetDeviceInfo, (cl_device_id d, cl_device_info what, size_t size, void *value, size_t *used),
       (d, what, size, value, used))

/* contexts and queues */
OBJECT(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *errcode),
       (properties, n, devices, notify, data, errcode))
STATUS(clReleaseContext, (cl_context c), (c))
OBJECT(cl_command_queue, clCreateCommandQueue,
       (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int *errcode),
       (c, d, properties, errcode))
STATUS(clReleaseCommandQueue, (cl_command_queue q), (q))
STATUS(clFlush, (cl_command_queue q), (q))
STATUS(clFinish, (cl_command_queue q), (q))

/* memory */
OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *errcode),
       (c, flags, size, host, errcode))
OBJECT(cl_mem, clCreateImage,
       (cl_context c, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, void *host,
        cl_int *errcode),
       (c, flags, format, desc, host, errcode))
STATUS(clGetSupportedImageFormats,
       (cl_context c, cl_mem_flags flags, cl_mem_object_type type, cl_uint n, cl_image_format *formats, cl_uint *count),
       (c, flags, type, n, formats, count))
STATUS(clReleaseMemObject, (cl_mem m), (m))

/* programs and kernels */
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context c, cl_uint n, const char **sources, const size_t *lengths, cl_int *errcode),
       (c, n, sources, lengths, errcode))
STATUS(clBuildProgram,
       (cl_program p, cl_uint n, const cl_device_id *devices, const char *options,
        void(CL_CALLBACK *notify)(cl_program, void *), void *data),
       (p, n, devices, options, notify, data))
STATUS(clGetProgramBuildInfo,
       (cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *value, size_t *used),
       (p, d, what, size, value, used))
STATUS(clReleaseProgram, (cl_program p), (p))
OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *errcode), (p, name, errcode))
STATUS(clSetKernelArg, (cl_kernel k, cl_uint index, size_t size, const void *value), (k, index, size, value))
STATUS(clGetKernelInfo, (cl_kernel k, cl_kernel_info what, size_t size, void *value, size_t *used),
       (k, what, size, value, used))
STATUS(clGetKernelArgInfo,
       (cl_kernel k, cl_uint index, cl_kernel_arg_info what, size_t size, void *value, size_t *used),
       (k, index, what, size, value, used))
STATUS(clGetKernelWorkGroupInfo,
       (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t size, void *value, size_t *used),
       (k, d, what, size, value, used))
STATUS(clReleaseKernel, (cl_kernel k), (k))

/* events */
OBJECT(cl_event, clCreateUserEvent, (cl_context c, cl_int *errcode), (c, errcode))
STATUS(clSetUserEventStatus, (cl_event e, cl_int status), (e, status))
STATUS(clWaitForEvents, (cl_uint n, const cl_event *events), (n, events))
STATUS(clGetEventInfo, (cl_event e, cl_event_info what, size_t size, void *value, size_t *used),
       (e, what, size, value, used))
STATUS(clGetEventProfilingInfo, (cl_event e, cl_profiling_info what, size_t size, void *value, size_t *used),
       (e, what, size, value, used))
STATUS(clReleaseEvent, (cl_event e), (e))

/* commands */
STATUS(clEnqueueReadBuffer,
       (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, void *host, WAITS),
       (q, m, blocking, offset, size, host, WAITED))
STATUS(clEnqueueWriteBuffer,
       (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, const void *host, WAITS),
       (q, m, blocking, offset, size, host, WAITED))
STATUS(clEnqueueCopyBuffer,
       (cl_command_queue q, cl_mem from, cl_mem to, size_t fromOffset, size_t toOffset, size_t size, WAITS),
       (q, from, to, fromOffset, toOffset, size, WAITED))
STATUS(clEnqueueFillBuffer,
       (cl_command_queue q, cl_mem m, const void *pattern, size_t patternSize, size_t offset, size_t size, WAITS),
       (q, m, pattern, patternSize, offset, size, WAITED))
OBJECT(void *, clEnqueueMapBuffer,
       (cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, WAITS,
        cl_int *errcode),
       (q, m, blocking, flags, offset, size, WAITED, errcode))
OBJECT(void *, clEnqueueMapImage,
       (cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, const size_t *origin, const size_t *region,
        size_t *rowPitch, size_t *slicePitch, WAITS, cl_int *errcode),
       (q, m, blocking, flags, origin, region, rowPitch, slicePitch, WAITED, errcode))
STATUS(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *mapped, WAITS), (q, m, mapped, WAITED))
STATUS(clEnqueueReadImage,
       (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *region, size_t rowPitch,
        size_t slicePitch, void *host, WAITS),
       (q, m, blocking, origin, region, rowPitch, slicePitch, host, WAITED))
STATUS(clEnqueueWriteImage,
       (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *origin, const size_t *region, size_t rowPitch,
        size_t slicePitch, const void *host, WAITS),
       (q, m, blocking, origin, region, rowPitch, slicePitch, host, WAITED))
STATUS(clEnqueueNDRangeKernel,
       (cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *offset, const size_t *global,
        const size_t *local, WAITS),
       (q, k, dimensions, offset, global, local, WAITED))
STATUS(clEnqueueTask, (cl_command_queue q, cl_kernel k, WAITS), (q, k, WAITED))
STATUS(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAITS), (q, WAITED))
STATUS(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAITS), (q, WAITED))

#pragma GCC visibility pop
