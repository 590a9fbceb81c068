/* A libOpenCL that has two GPUs of each of two vendors, which hide devices by their variables as drivers do. All are
 * the first device of the real library, which does what is not told here: link that by -Wl,--no-as-needed.
 *
 * CUDA_VISIBLE_DEVICES    of "NVIDIA 0" and "NVIDIA 1": numbers up to the first that is none of a device
 * ROCR_VISIBLE_DEVICES    of "AMD 0" and "AMD 1": the same
 * GPU_DEVICE_ORDINAL      numbers in what ROCR_VISIBLE_DEVICES leaves; empty: all
 * EXTSORT_TEST_REPORT=F   file to which a line is added for each context: its device
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VENDORS = 2, GPUS = 2 };
static const char *names[VENDORS][GPUS] = {{"NVIDIA 0", "NVIDIA 1"}, {"AMD 0", "AMD 1"}};

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static cl_device_id real(void) {
	static cl_device_id device;
	cl_platform_id platform;
	if (!device && REAL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS)
		REAL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	return device;
}

/* keep leaves those of n devices that a variable lists, in its order, and returns how many they are. */
static int keep(const char *variable, const char **devices[], int n) {
	const char *text = getenv(variable);
	const char **kept[GPUS];
	int count = 0;
	if (!text) return n;
	for (char *end; count < n; text = end + 1) {
		long i = strtol(text, &end, 10);
		if (end == text || i < 0 || i >= n) break;
		kept[count++] = devices[i];
		if (*end != ',') break;
	}
	memcpy(devices, kept, count * sizeof *kept);
	return count;
}

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *count) {
	for (cl_uint i = 0; ids && i < n && i < VENDORS; i++) ids[i] = (cl_platform_id)names[i];
	if (count) *count = VENDORS;
	return CL_SUCCESS;
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count) {
	const char **vendor = (const char **)platform, **devices[GPUS] = {vendor, vendor + 1};
	int nvidia = vendor == names[0], left = keep(nvidia ? "CUDA_VISIBLE_DEVICES" : "ROCR_VISIBLE_DEVICES", devices, GPUS);
	const char *ordinals = getenv("GPU_DEVICE_ORDINAL");
	if (!nvidia && ordinals && *ordinals) left = keep("GPU_DEVICE_ORDINAL", devices, left);
	for (int i = 0; ids && i < (int)n && i < left; i++) ids[i] = (cl_device_id)devices[i];
	if (count) *count = left;
	return left ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

cl_int clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size, void *value, size_t *used) {
	const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
	const void *own = what == CL_DEVICE_NAME ? *(const void **)d : &gpu;
	size_t bytes = what == CL_DEVICE_NAME ? strlen(own) + 1 : sizeof gpu;
	if (what != CL_DEVICE_NAME && what != CL_DEVICE_TYPE) return REAL(clGetDeviceInfo)(real(), what, size, value, used);
	if (value) memcpy(value, own, bytes);
	if (used) *used = bytes;
	return CL_SUCCESS;
}

cl_context clCreateContext(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                           void (*f)(const char *, const void *, size_t, void *), void *data, cl_int *err) {
	cl_device_id device = real();
	const char *path = getenv("EXTSORT_TEST_REPORT");
	FILE *report = path ? fopen(path, "a") : NULL;
	if (report) fprintf(report, "%s\n", *(const char **)d[0]);
	if (report) fclose(report);
	return REAL(clCreateContext)(NULL, 1, &device, f, data, err);
}

cl_command_queue clCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *err) {
	return REAL(clCreateCommandQueue)(c, real(), p, err);
}

cl_int clBuildProgram(cl_program p, cl_uint n, const cl_device_id *d, const char *options,
                      void (*f)(cl_program, void *), void *data) {
	cl_device_id device = real();
	return REAL(clBuildProgram)(p, n ? 1 : 0, n ? &device : NULL, options, f, data);
}

cl_int clGetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *v,
                             size_t *used) {
	return REAL(clGetProgramBuildInfo)(p, real(), what, size, v, used);
}

cl_int clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t size, void *v,
                                size_t *used) {
	return REAL(clGetKernelWorkGroupInfo)(k, real(), what, size, v, used);
}
