package dist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
)

// errDamaged means that the content of a file of the plan was changed by a crash or a disk error.
var errDamaged = errors.New("is damaged")

// sealed is the content of a file that includes a checksum of its own text. seal returns a pointer
// to the checksum.
type sealed interface{ seal() *string }

func (r *Record) seal() *string { return &r.Sum }

func (c *cut) seal() *string { return &c.Sum }

func (m *Manifest) seal() *string { return &m.Sum }

// withSum replaces the checksum of a file in its text. It is the first checksum of the text: those
// of records within the file follow it.
func withSum(text []byte, old, sum string) []byte {
	const key = `"sum": "`
	return bytes.Replace(text, []byte(key+old+`"`), []byte(key+sum+`"`), 1)
}

func sumOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))[:32]
}

// writeJSON writes a durable file that appears completely or not at all.
func writeJSON(ctx context.Context, name string, v any) error {
	if v, ok := v.(sealed); ok {
		*v.seal() = ""
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if v, ok := v.(sealed); ok {
		*v.seal() = sumOf(text)
		text = withSum(text, "", *v.seal())
	}
	return output.WriteFile(ctx, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readJSON reads a file of writeJSON. It returns errDamaged if the content has changed.
func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w (%v)", name, errDamaged, err)
	}
	if v, ok := v.(sealed); ok &&
		sumOf(withSum(text, *v.seal(), "")) != *v.seal() {
		return fmt.Errorf(
			"%s: %w: its checksum does not match", name, errDamaged,
		)
	}
	return nil
}
