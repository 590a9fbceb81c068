//go:build race

package extsort

const raceEnabled = true
