// Package s3 lets extsort read and write objects of S3 stores (s3://BUCKET/KEY, gs://BUCKET/KEY)
// and read files of web servers (http://, https://). Import it for its side effect:
//
//	import _ "github.com/extsort/extsort/remote/s3"
//
// Inputs and outputs with such names then work wherever a file name does. Programs without this
// import link neither an S3 client nor net/http. docs/remote.md lists the environment variables for
// credentials and endpoints.
package s3

import "github.com/extsort/extsort/internal/remote"

func init() { remote.Register(driver{}) }

// driver sends the requests of package remote by HTTP and by the S3 protocol.
type driver struct{}
