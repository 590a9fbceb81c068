//go:build !linux

package main

// look does nothing on this system.
func (m *machine) look(string) {}
