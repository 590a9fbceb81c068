package extsort

import (
	"fmt"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestTypedLayouts holds the typed form of a layout against the text form.
func TestTypedLayouts(t *testing.T) {
	for _, c := range []struct {
		got  format.Spec
		want string
	}{
		{Keys(U64), "{ u64  0 []  }"},
		{Keys(BigEndian(I128)), "{ i128be  0 []  }"},
		{Keys(BigEndian(U8)), "{ u8  0 []  }"},
		{Record(100).Key(0, Bytes(10)).Desc(), "{   100 [0:bytes10:desc]  }"},
		{Record(16).Key(8, F32).Key(0, BigEndian(U64)).Desc(), "{   16 [8:f32 0:u64be:desc]  }"},
		{Record(3), "{   3 []  }"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if err := c.got.Validate(); err != nil {
			t.Error(err)
		}
	}
	shared := Record(8).Key(0, U8)
	_, _ = shared.Key(1, U8), shared.Desc()
	if fmt.Sprint(shared.Keys) != "[0:u8]" {
		t.Errorf("a layout was changed behind its back: %v", shared.Keys)
	}
}
