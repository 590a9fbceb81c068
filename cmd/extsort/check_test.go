package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestCheckEndsAtDisorder checks endless data that starts with records out of order.
func TestCheckEndsAtDisorder(t *testing.T) {
	var stdout, stderr bytes.Buffer
	endless := io.MultiReader(strings.NewReader("abdc"), forever('z'))
	if status := run(t.Context(), []string{"-t", "u8", "-c"}, endless, &stdout, &stderr); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	const want = "record 4 (byte 3) is out of order: 99 after 100\n"
	if !strings.HasSuffix(stderr.String(), want) || stdout.Len() > 0 {
		t.Errorf("standard error is %q, want …%q; standard output is %q", stderr.String(), want, stdout.String())
	}
}

// forever is a reader that returns the same byte forever.
type forever byte

func (f forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}
