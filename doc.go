// Package extsort sorts files of fixed-size binary records that may be far larger than memory.
package extsort
