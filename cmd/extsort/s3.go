//go:build s3

package main

import _ "github.com/extsort/extsort/remote/s3" // registers object stores and web servers

// hasS3 reports whether this binary can read and write object stores.
const hasS3 = true
