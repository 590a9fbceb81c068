//go:build opencl

package conventions

const buildTags = "opencl,s3"
