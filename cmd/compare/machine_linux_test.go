package main

import "testing"

func TestFileSystem(t *testing.T) {
	mounts := []byte("/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n" +
		"/dev/b /data xfs rw 0 0\n/dev/c /data btrfs rw 0 0\nbad\n")
	for dir, want := range map[string]string{
		"/": "ext4", "/home/me": "ext4", "/tmp": "tmpfs", "/tmp/x": "tmpfs", "/tmpfile": "ext4", "/data/big": "btrfs",
	} {
		if got := fileSystem(mounts, dir); got != want {
			t.Errorf("%s is on %s, want %s", dir, got, want)
		}
	}
}

func TestLabelled(t *testing.T) {
	text := []byte("processor\t: 0\nmodel name\t: A: B 3000\nMemTotal:       1024 kB\n")
	if got := labelled(text, "model name"); got != "A: B 3000" {
		t.Errorf("the model is %q", got)
	}
	if got := kibibytes(text, "MemTotal:"); got != 1<<20 {
		t.Errorf("the memory is %d", got)
	}
	if labelled(text, "none") != "" || kibibytes(text, "None:") != 0 {
		t.Error("what is not there was found")
	}
}
