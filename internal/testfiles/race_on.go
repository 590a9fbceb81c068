//go:build race

package testfiles

// Race reports whether the race detector is on. It makes code slow and needs much memory.
const Race = true
