package filename

import (
	"encoding/json"
	"testing"
)

func TestNamesThroughJSON(t *testing.T) {
	type entry struct {
		Name string   `json:"name"`
		Raw  []byte   `json:"name_base64,omitempty"`
		All  [][]byte `json:"all_base64,omitempty"`
	}
	for name, want := range map[string]string{
		"":       `{"name":""}`,
		"größe":  `{"name":"größe"}`,
		"\ufffd": `{"name":"` + "\ufffd" + `"}`,
		"a\xffb": `{"name":"a\ufffdb","name_base64":"Yf9i","all_base64":["Yf9i","eg=="]}`,
	} {
		text, err := json.Marshal(entry{name, Raw(name), RawAll([]string{name, "z"})})
		if err != nil || string(text) != want {
			t.Errorf("%q: %s, %v; want %s", name, text, err, want)
		}
		var back entry
		if err := json.Unmarshal(text, &back); err != nil || Restore(back.Name, back.Raw) != name {
			t.Errorf("%q: came back as %q, %v", name, Restore(back.Name, back.Raw), err)
		}
	}
}
