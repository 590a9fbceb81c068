//go:build !s3

package main

// hasS3 reports whether the binary reads and writes object stores.
const hasS3 = false
