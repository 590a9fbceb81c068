//go:build !linux

package main

import "os"

// anonymousMemory is not known here.
func anonymousMemory(int) int64 { return 0 }

// diskTraffic is not known here.
func diskTraffic(*os.ProcessState) traffic { return traffic{} }

// freeMemory is none here, as there is no tmpfs.
func freeMemory(string) int64 { return 0 }
