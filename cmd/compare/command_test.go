package main

import "testing"

func TestScriptIsAShellLine(t *testing.T) {
	for want, s := range map[string]script{
		"cp in out":                          single("cp", "in", "out"),
		"cat in | extsort -S 1G | cat > out": throughPipes.script(command{"extsort", "-S", "1G"}, "in", "out"),
		"cp a b && cp b c":                   append(single("cp", "a", "b"), single("cp", "b", "c")...),
		`python3 -c 'f('"'"'a b'"'"')' ''`:   single("python3", "-c", "f('a b')", ""),
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestExactSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		1 << 30: "1G", 256 << 20: "256M", 3 << 10: "3K", 1000: "1000b", 4 << 40: "4096G",
	} {
		if got := exactSize(bytes); got != want {
			t.Errorf("exactSize(%d) = %s, want %s", bytes, got, want)
		}
	}
}
