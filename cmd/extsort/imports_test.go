package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Drawing libraries once were more than a third of the command. Plots of the bench are drawn by hand.
func TestNoDrawingLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "gonum.org/") || strings.Contains(name, "freetype") {
			t.Errorf("the command imports %s", name)
		}
	}
}
