package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A version is an extsort command. Its checksum distinguishes two builds with the same name.
type version struct {
	Name     string `json:"name"`
	Sum      string `json:"sha256"` // the first digits
	Reported string `json:"version,omitempty"`
	path     string
}

// runs reports whether an entrant uses this version.
func (v version) runs(entrant string) bool {
	return strings.HasPrefix(entrant, v.Name+" ")
}

// tool returns the name of the command in a script.
func (v version) tool() string { return "extsort " + v.Name }

// find makes the path absolute, because scripts run in another directory.
func (v *version) find() (err error) {
	if v.path, err = exec.LookPath(v.path); err == nil {
		v.path, err = filepath.Abs(v.path)
	}
	return err
}

// identify sets the fields that a report contains.
func (v *version) identify() error {
	program, err := os.ReadFile(v.path)
	sum := sha256.Sum256(program)
	v.Sum = hex.EncodeToString(sum[:6])
	return err
}
