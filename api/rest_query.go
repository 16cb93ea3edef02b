package api

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"countersign/internal/plaintext"
	"countersign/models"
)

// This file reads the query string and the IDs in the path.

// checkQuery returns an error if the query string is ambiguous, because a name is repeated or a value is not text. It
// ignores unknown names.
func checkQuery(c *gin.Context) error {
	p := models.Problems{}
	if strings.Count(c.Request.URL.RawQuery, "&") >= maxPairs {
		p.Add("query", "must have at most %d name=value pairs", maxPairs)
		return p.Err()
	}
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		p.Add("query", "must be name=value pairs, percent-encoded and separated by &")
	}
	for name, v := range values {
		if len(v) > 1 {
			p.Add(plaintext.Strip(name), "must occur only once")
		} else if !isText(v[0]) {
			p.Add(plaintext.Strip(name), "must be UTF-8 text without control characters")
		}
	}
	return p.Err()
}

// isText reports whether s is UTF-8 without control characters.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}

// query reads a positive integer from the query string. It returns the given default if the parameter is absent or
// invalid.
func query(c *gin.Context, p models.Problems, name string, otherwise, highest int) int {
	raw, ok := c.GetQuery(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > highest || strconv.Itoa(n) != raw {
		p.Add(name, "must be a whole number between 1 and %d", highest)
		return otherwise
	}
	return n
}

// queryText reads text from the query string. It returns "" if the parameter is absent.
func queryText(c *gin.Context, p models.Problems, name string, most int) string {
	text, present := c.GetQuery(name)
	if present && (strings.TrimSpace(text) == "" || utf8.RuneCountInString(text) > most) {
		p.Add(name, "must have between 1 and %d characters", most)
	}
	return text
}

// queryTime reads a time from the query string. It returns the zero time if the parameter is absent.
func queryTime(c *gin.Context, p models.Problems, name string) time.Time {
	raw, ok := c.GetQuery(name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, raw)
	switch {
	case err != nil && strings.Contains(raw, " "):
		p.Add(name, "%s; encode the + of a time zone as %%2B", notATime) // an unencoded + means a space in a query string
	case err != nil:
		p.Add(name, notATime)
	}
	return t
}

// queryFlag reads a Boolean from the query string. It returns false if the parameter is absent.
func queryFlag(c *gin.Context, p models.Problems, name string) bool {
	raw, ok := c.GetQuery(name)
	if ok && raw != "true" && raw != "false" {
		p.Add(name, "must be true or false")
	}
	return raw == "true"
}

// queryID reads an ID from the query string. It returns the zero ID if the parameter is absent.
func queryID(c *gin.Context, p models.Problems, name string) uuid.UUID {
	raw, ok := c.GetQuery(name)
	if !ok {
		return uuid.Nil
	}
	id, err := uuid.Parse(raw)
	if err != nil || len(raw) != 36 || id == uuid.Nil {
		p.Add(name, "must be a UUID")
	}
	return id
}

// checkedID returns an ID from the path. checkPath must have validated it.
func checkedID(c *gin.Context, name string) uuid.UUID {
	id, _ := pathID(c, name)
	return id
}

// pathID reads an ID from the path. For an invalid ID, it returns a not-found error.
func pathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := uuid.Parse(c.Param(name))
	if err != nil || len(c.Param(name)) != 36 {
		return uuid.Nil, models.ErrNotFound
	}
	return id, nil
}

// maxSearch is the maximum length of a search text, in characters.
const maxSearch = 200

func searchText(c *gin.Context, p models.Problems) string {
	text := c.Query("search")
	if utf8.RuneCountInString(text) > maxSearch || !isText(text) {
		p.Add("search", "must have at most %d characters and no control characters", maxSearch)
	}
	return text
}
