//go:build !linux

package main

import "os"

// anonymousMemory returns 0, because this system does not report it.
func anonymousMemory(int) int64 { return 0 }

// diskTraffic returns zero, because this system does not report it.
func diskTraffic(*os.ProcessState) traffic { return traffic{} }

// freeMemory returns 0, because this system has no tmpfs.
func freeMemory(string) int64 { return 0 }
