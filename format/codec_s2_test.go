package format

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/s2"
)

// TestS2CutAnywhere truncates our stream after each of its bytes, including the ends of blocks.
// The identifier alone, 10 bytes, is what other programs write for no data.
func TestS2CutAnywhere(t *testing.T) {
	data := compressible(3*s2Block + 5)
	for _, workers := range []int{1, 3} {
		whole := compressed(t, S2, workers, data)
		cuts := s2Ends(whole)
		if len(cuts) != 7 { // the identifier, ours, 4 blocks, ours
			t.Fatalf("the chunks end at %v", cuts)
		}
		for at := 1; at < len(whole); at += 9973 {
			cuts = append(cuts, at)
		}
		for at := 1; at < 30; at++ {
			cuts = append(cuts, at, len(whole)-at)
		}
		for _, at := range cuts {
			_, err := decompressed(S2, iotest.DataErrReader(bytes.NewReader(whole[:at])))
			if cut := at < len(whole) && at != 10; cut != (err != nil) {
				t.Errorf("%d workers, %d of %d bytes: %v", workers, at, len(whole), err)
			}
			if at > 21 && err != nil && !strings.Contains(err.Error(), "it was cut short or is damaged, get "+
				"a complete copy") {
				t.Errorf("%d workers, %d of %d bytes: %v", workers, at, len(whole), err)
			}
			_, err = decompressed(S2, io.MultiReader(bytes.NewReader(whole[:at]), bytes.NewReader(whole)))
			if cut := at < len(whole); cut != (err != nil) && at != 10 { // the identifier twice is no fault
				t.Errorf("%d workers, %d of %d bytes, then the whole: %v", workers, at, len(whole), err)
			}
		}
	}
}

// s2Ends are the places where the chunks of a stream end.
func s2Ends(stream []byte) (ends []int) {
	for at := 0; at < len(stream); ends = append(ends, at) {
		at += 4 + int(stream[at+1]) + int(stream[at+2])<<8 + int(stream[at+3])<<16
	}
	return ends
}

// TestS2FromOtherPrograms reads streams of other programs, with chunks of any kind, and lets them read
// ours. If their stream ends with a block, another block may be missing without notice.
func TestS2FromOtherPrograms(t *testing.T) {
	data := compressible(2*s2Block + 5)
	got, err := io.ReadAll(s2.NewReader(bytes.NewReader(compressed(t, S2, 2, data))))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("another reader: %d bytes, %v", len(got), err)
	}
	var b bytes.Buffer
	w := s2.NewWriter(&b, s2.WriterAddIndex(), s2.WriterBlockSize(s2Block))
	err = errors.Join(w.AddSkippableBlock(s2Chunk, []byte("extsort?")), w.AddSkippableBlock(0x81, []byte(s2Begin)))
	_, failed := w.Write(data)
	if err = errors.Join(err, failed, w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err = decompressed(S2, bytes.NewReader(b.Bytes()))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("another writer: %d bytes, %v", len(got), err)
	}
	ends := s2Ends(b.Bytes())
	if _, err := decompressed(S2, bytes.NewReader(b.Bytes()[:ends[3]])); err != nil {
		t.Errorf("another writer, cut after a block: %v", err)
	}
}
