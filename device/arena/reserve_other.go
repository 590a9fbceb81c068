//go:build !unix

package arena

func reserve(bytes int) (*Memory, error) {
	return &Memory{bytes: alignUp(
		make([]byte, bytes+align-1), align, bytes,
	)}, nil
}

func release([]byte) error { return nil }

func discard([]byte) {}
