package columnhelper

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// peek returns the first bytes of a pipe, which stay in it. It waits for the first byte, and a little
// for the others.
func peek(file *os.File, head []byte) []byte {
	var copied [2]int
	if err := unix.Pipe2(copied[:], unix.O_CLOEXEC); err != nil {
		return nil
	}
	defer unix.Close(copied[0])
	defer unix.Close(copied[1])
	const tries = 100
	for range tries {
		n, err := unix.Tee(int(file.Fd()), copied[1], len(head), 0)
		if err != nil || n == 0 {
			return nil
		}
		read, err := unix.Read(copied[0], head[:n])
		if err != nil || read == len(head) {
			return head[:max(read, 0)]
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
