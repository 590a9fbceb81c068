package main

import _ "github.com/extsort/extsort/format/brotli" // registers its library
