package columns

import (
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/s2"
)

// fastSnappy is Snappy with the effort of other writers of Parquet files. The one of arrow-go searches longer
// for matches, which takes twice the time.
type fastSnappy struct {
	compress.ErrorCodec
	compress.StreamingCodec
}

func (fastSnappy) Encode(dst, src []byte) []byte { return s2.EncodeSnappy(dst, src) }

func (fastSnappy) EncodeLevel(dst, src []byte, _ int) []byte { return s2.EncodeSnappy(dst, src) }

// The table of codecs has no lock, so it can be changed only here.
func init() {
	codec, err := compress.GetCodec(compress.Codecs.Snappy)
	if err != nil {
		return
	}
	blocks, hasBlocks := codec.(compress.ErrorCodec)
	streams, hasStreams := codec.(compress.StreamingCodec)
	if hasBlocks && hasStreams {
		compress.RegisterCodec(compress.Codecs.Snappy, fastSnappy{blocks, streams})
	}
}
