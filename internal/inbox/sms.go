package inbox

import (
	"cmp"
	"net/http"
	"time"
)

const maxForm = 64 << 10 // bytes

// receiveSMS implements Twilio's request to create a message. It accepts To, From (or MessagingServiceSid) and Body as
// form values, with any account and token, and responds with 201.
func (b *Inbox) receiveSMS(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		twilioError(w, 20001, "the form cannot be read")
		return
	}
	to, body := r.PostForm.Get("To"), r.PostForm.Get("Body")
	from := cmp.Or(r.PostForm.Get("From"), r.PostForm.Get("MessagingServiceSid"))
	switch {
	case to == "":
		twilioError(w, 21604, "a 'To' number is required")
		return
	case from == "":
		twilioError(w, 21603, "a 'From' number is required")
		return
	case body == "":
		twilioError(w, 21602, "a message body is required")
		return
	}
	m, err := b.add(Message{
		Kind: KindSMS, From: from, To: []string{to}, Text: body, Links: links(body, ""), Size: int64(len(body)),
	}, "")
	if err != nil {
		http.Error(w, "not stored", http.StatusInternalServerError)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]any{
		"sid": "SM" + "0000000000000000" + m.ID, "account_sid": r.PathValue("sid"),
		"to": to, "from": from, "body": body, "status": "queued", "direction": "outbound-api",
		"date_created": m.Date.Format(time.RFC1123Z), "num_segments": "1", "error_code": nil, "error_message": nil,
	})
}

func twilioError(w http.ResponseWriter, code int, message string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{"code": code, "message": message, "status": http.StatusBadRequest})
}
