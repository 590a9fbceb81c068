//go:build !s3

package main

// hasS3 reports whether this binary can read and write object stores.
const hasS3 = false
