package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"countersign/clients/go/api"
)

// reader is how the Go client reads the answer to an operation.
type reader func(*http.Response) (any, error)

func reads[T any](parse func(*http.Response) (T, error)) reader {
	return func(res *http.Response) (any, error) { return parse(res) }
}

var readers = map[string]reader{
	"addADocumentInTheConsole":      reads(api.ParseAddADocumentInTheConsoleResponse),
	"addAField":                     reads(api.ParseAddAFieldResponse),
	"addASigner":                    reads(api.ParseAddASignerResponse),
	"archiveATemplate":              reads(api.ParseArchiveATemplateResponse),
	"askTheWorkflowForProgress":     reads(api.ParseAskTheWorkflowForProgressResponse),
	"cancelABulkSend":               reads(api.ParseCancelABulkSendResponse),
	"changeAConsoleUser":            reads(api.ParseChangeAConsoleUserResponse),
	"changeAWebhook":                reads(api.ParseChangeAWebhookResponse),
	"changeAnEndpoint":              reads(api.ParseChangeAnEndpointResponse),
	"changeBranding":                reads(api.ParseChangeBrandingResponse),
	"changeSettings":                reads(api.ParseChangeSettingsResponse),
	"changeTheApp":                  reads(api.ParseChangeTheAppResponse),
	"createABuilderSession":         reads(api.ParseCreateABuilderSessionResponse),
	"createABulkSend":               reads(api.ParseCreateABulkSendResponse),
	"createAConsoleUser":            reads(api.ParseCreateAConsoleUserResponse),
	"createAConsoleWebhook":         reads(api.ParseCreateAConsoleWebhookResponse),
	"createATemplate":               reads(api.ParseCreateATemplateResponse),
	"createAnEmbeddedSession":       reads(api.ParseCreateAnEmbeddedSessionResponse),
	"createAnEnvelope":              reads(api.ParseCreateAnEnvelopeResponse),
	"deleteAConsoleWebhook":         reads(api.ParseDeleteAConsoleWebhookResponse),
	"deleteAContact":                reads(api.ParseDeleteAContactResponse),
	"deleteADraft":                  reads(api.ParseDeleteADraftResponse),
	"deleteAWebhook":                reads(api.ParseDeleteAWebhookResponse),
	"disableAConsoleUser":           reads(api.ParseDisableAConsoleUserResponse),
	"downloadADocument":             reads(api.ParseDownloadADocumentResponse),
	"downloadADocumentInTheConsole": reads(api.ParseDownloadADocumentInTheConsoleResponse),
	"downloadATemplateDocument":     reads(api.ParseDownloadATemplateDocumentResponse),
	"downloadAllSealedFiles":        reads(api.ParseDownloadAllSealedFilesResponse),
	"downloadAnAttachment":          reads(api.ParseDownloadAnAttachmentResponse),
	"editADocument":                 reads(api.ParseEditADocumentResponse),
	"editADraft":                    reads(api.ParseEditADraftResponse),
	"editAField":                    reads(api.ParseEditAFieldResponse),
	"editASigner":                   reads(api.ParseEditASignerResponse),
	"editATemplate":                 reads(api.ParseEditATemplateResponse),
	"endAUsersSessions":             reads(api.ParseEndAUsersSessionsResponse),
	"getABulkSend":                  reads(api.ParseGetABulkSendResponse),
	"getADelivery":                  reads(api.ParseGetADeliveryResponse),
	"getASigningLink":               reads(api.ParseGetASigningLinkResponse),
	"getATemplate":                  reads(api.ParseGetATemplateResponse),
	"getAWebhook":                   reads(api.ParseGetAWebhookResponse),
	"getAnEnvelope":                 reads(api.ParseGetAnEnvelopeResponse),
	"getBranding":                   reads(api.ParseGetBrandingResponse),
	"getEnteredValues":              reads(api.ParseGetEnteredValuesResponse),
	"getSettings":                   reads(api.ParseGetSettingsResponse),
	"getTheUsage":                   reads(api.ParseGetTheUsageResponse),
	"inspectAnEnvelope":             reads(api.ParseInspectAnEnvelopeResponse),
	"inspectTheApp":                 reads(api.ParseInspectTheAppResponse),
	"inspectWebhooks":               reads(api.ParseInspectWebhooksResponse),
	"inviteASignerAgain":            reads(api.ParseInviteASignerAgainResponse),
	"listBulkSends":                 reads(api.ParseListBulkSendsResponse),
	"listClientSecrets":             reads(api.ParseListClientSecretsResponse),
	"listConsoleUsers":              reads(api.ParseListConsoleUsersResponse),
	"listContacts":                  reads(api.ParseListContactsResponse),
	"listDeliveries":                reads(api.ParseListDeliveriesResponse),
	"listEnvelopes":                 reads(api.ParseListEnvelopesResponse),
	"listEvents":                    reads(api.ParseListEventsResponse),
	"listTemplates":                 reads(api.ParseListTemplatesResponse),
	"listTheRowsOfABulkSend":        reads(api.ParseListTheRowsOfABulkSendResponse),
	"listWebhooks":                  reads(api.ParseListWebhooksResponse),
	"pauseABulkSend":                reads(api.ParsePauseABulkSendResponse),
	"pauseAWebhook":                 reads(api.ParsePauseAWebhookResponse),
	"pingAWebhook":                  reads(api.ParsePingAWebhookResponse),
	"prepareADocument":              reads(api.ParsePrepareADocumentResponse),
	"registerAWebhook":              reads(api.ParseRegisterAWebhookResponse),
	"removeADocument":               reads(api.ParseRemoveADocumentResponse),
	"removeAField":                  reads(api.ParseRemoveAFieldResponse),
	"removeASigner":                 reads(api.ParseRemoveASignerResponse),
	"removeBranding":                reads(api.ParseRemoveBrandingResponse),
	"replaceASigner":                reads(api.ParseReplaceASignerResponse),
	"resendADelivery":               reads(api.ParseResendADeliveryResponse),
	"resendAllFailedSinceATime":     reads(api.ParseResendAllFailedSinceATimeResponse),
	"resetASecondFactor":            reads(api.ParseResetASecondFactorResponse),
	"resumeABulkSend":               reads(api.ParseResumeABulkSendResponse),
	"resumeAWebhook":                reads(api.ParseResumeAWebhookResponse),
	"retryABulkSend":                reads(api.ParseRetryABulkSendResponse),
	"revokeABuilderSession":         reads(api.ParseRevokeABuilderSessionResponse),
	"revokeAnEmbeddedSession":       reads(api.ParseRevokeAnEmbeddedSessionResponse),
	"rotateTheSecretOfAWebhook":     reads(api.ParseRotateTheSecretOfAWebhookResponse),
	"saveAContact":                  reads(api.ParseSaveAContactResponse),
	"searchEnvelopes":               reads(api.ParseSearchEnvelopesResponse),
	"sendASignerANewLink":           reads(api.ParseSendASignerANewLinkResponse),
	"sendAnEnvelope":                reads(api.ParseSendAnEnvelopeResponse),
	"sendCopiesAgain":               reads(api.ParseSendCopiesAgainResponse),
	"setThePasswordOfAConsoleUser":  reads(api.ParseSetThePasswordOfAConsoleUserResponse),
	"streamEvents":                  reads(api.ParseStreamEventsResponse),
	"suggestFields":                 reads(api.ParseSuggestFieldsResponse),
	"suggestFieldsOfATemplate":      reads(api.ParseSuggestFieldsOfATemplateResponse),
	"tellWhoIsSignedIn":             reads(api.ParseTellWhoIsSignedInResponse),
	"testAWebhook":                  reads(api.ParseTestAWebhookResponse),
	"uploadADocument":               reads(api.ParseUploadADocumentResponse),
	"verifyASealedDocument":         reads(api.ParseVerifyASealedDocumentResponse),
	"voidAnEnvelope":                reads(api.ParseVoidAnEnvelopeResponse),
	"voidAnEnvelopeInTheConsole":    reads(api.ParseVoidAnEnvelopeInTheConsoleResponse),
}

// requests are the types of the Go client for what is sent as JSON.
var requests = map[string]func() any{
	"addAField":                    is[api.AddAFieldJSONRequestBody],
	"addASigner":                   is[api.AddASignerJSONRequestBody],
	"changeAConsoleUser":           is[api.ChangeAConsoleUserJSONRequestBody],
	"changeAWebhook":               is[api.ChangeAWebhookJSONRequestBody],
	"changeAnEndpoint":             is[api.ChangeAnEndpointJSONRequestBody],
	"changeBranding":               is[api.ChangeBrandingJSONRequestBody],
	"changeSettings":               is[api.ChangeSettingsJSONRequestBody],
	"changeTheApp":                 is[api.ChangeTheAppJSONRequestBody],
	"createABuilderSession":        is[api.CreateABuilderSessionJSONRequestBody],
	"createABulkSend":              is[api.CreateABulkSendJSONRequestBody],
	"createAConsoleUser":           is[api.CreateAConsoleUserJSONRequestBody],
	"createAConsoleWebhook":        is[api.CreateAConsoleWebhookJSONRequestBody],
	"createATemplate":              is[api.CreateATemplateJSONRequestBody],
	"createAnEmbeddedSession":      is[api.CreateAnEmbeddedSessionJSONRequestBody],
	"createAnEnvelope":             is[api.CreateAnEnvelopeJSONRequestBody],
	"editADocument":                is[api.EditADocumentJSONRequestBody],
	"editADraft":                   is[api.EditADraftJSONRequestBody],
	"editAField":                   is[api.EditAFieldJSONRequestBody],
	"editASigner":                  is[api.EditASignerJSONRequestBody],
	"editATemplate":                is[api.EditATemplateJSONRequestBody],
	"getASigningLink":              is[api.GetASigningLinkJSONRequestBody],
	"prepareADocument":             is[api.PrepareADocumentJSONRequestBody],
	"registerAWebhook":             is[api.RegisterAWebhookJSONRequestBody],
	"replaceASigner":               is[api.ReplaceASignerJSONRequestBody],
	"resendAllFailedSinceATime":    is[api.ResendAllFailedSinceATimeJSONRequestBody],
	"rotateTheSecretOfAWebhook":    is[api.RotateTheSecretOfAWebhookJSONRequestBody],
	"saveAContact":                 is[api.SaveAContactJSONRequestBody],
	"sendAnEnvelope":               is[api.SendAnEnvelopeJSONRequestBody],
	"sendCopiesAgain":              is[api.SendCopiesAgainJSONRequestBody],
	"setThePasswordOfAConsoleUser": is[api.SetThePasswordOfAConsoleUserJSONRequestBody],
	"voidAnEnvelope":               is[api.VoidAnEnvelopeJSONRequestBody],
	"voidAnEnvelopeInTheConsole":   is[api.VoidAnEnvelopeInTheConsoleJSONRequestBody],
}

func is[T any]() any { return new(T) }

// requireSaid wants the Go client's types to be able to say what was sent.
func requireSaid(t *testing.T, operation string, body []byte) {
	t.Helper()
	require.Contains(t, requests, operation, "the table has all requests of the Go client: add it")
	typed := requests[operation]()
	require.NoError(t, json.Unmarshal(body, typed), "%s: %s", operation, body)
	again, err := json.Marshal(typed)
	require.NoError(t, err)
	var sent, said any
	require.NoError(t, json.Unmarshal(body, &sent))
	require.NoError(t, json.Unmarshal(again, &said))
	for _, name := range lost(operation, sent, said) {
		require.Equal(t, "createAnEmbeddedSession.theme.other: true became <nil>", name, "what the Go client's types cannot say") // nobody can: the service ignores it
	}
}

// requireRead reads an answer as the Go client does, and wants nothing of it to be lost.
func requireRead(t *testing.T, operation string, a *answer) {
	t.Helper()
	require.Contains(t, readers, operation, "the table has all operations of the Go client: add it")
	res := *a.response
	res.Body = io.NopCloser(bytes.NewReader(a.raw))
	parsed, err := readers[operation](&res)
	require.NoError(t, err, "%s: %s", operation, a.raw)
	if !json.Valid(a.raw) {
		return // a file, or nothing
	}
	body := reflect.ValueOf(parsed).Elem().FieldByName(fmt.Sprintf("JSON%d", a.status))
	require.True(t, body.IsValid() && !body.IsNil(), "%s: the Go client has no type for its answer %d", operation, a.status)
	again, err := json.Marshal(body.Interface())
	require.NoError(t, err)
	var said, read any
	require.NoError(t, json.Unmarshal(a.raw, &said))
	require.NoError(t, json.Unmarshal(again, &read))
	require.Empty(t, lost(operation, said, read), "what the Go client's types do not hold")
}

// lost names what is in an answer and not in what was read of it.
func lost(at string, said, read any) (names []string) {
	switch said := said.(type) {
	case nil: // absent and null are one in Go
	case map[string]any:
		members, _ := read.(map[string]any)
		for name, v := range said {
			names = append(names, lost(at+"."+name, v, members[name])...)
		}
	case []any:
		items, _ := read.([]any)
		if len(items) != len(said) {
			return []string{at}
		}
		for i, v := range said {
			names = append(names, lost(fmt.Sprintf("%s[%d]", at, i), v, items[i])...)
		}
	default:
		if !reflect.DeepEqual(said, read) && !sameTime(said, read) {
			names = append(names, fmt.Sprintf("%s: %v became %v", at, said, read))
		}
	}
	return names
}

// sameTime reports whether two texts are the same time, written in two ways.
func sameTime(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	at, err1 := time.Parse(time.RFC3339Nano, x)
	other, err2 := time.Parse(time.RFC3339Nano, y)
	return err1 == nil && err2 == nil && at.Equal(other)
}

func TestLost(t *testing.T) {
	t.Parallel()
	decode := func(text string) (v any) {
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return v
	}
	said := decode(`{"a": 1, "b": [{"c": "x"}], "at": "2026-11-22T10:00:00.500Z", "none": null}`)
	require.Empty(t, lost("it", said, said))
	require.Empty(t, lost("it", said, decode(`{"a": 1, "b": [{"c": "x", "more": 2}], "at": "2026-11-22T10:00:00.5Z"}`)))
	require.Equal(t, []string{"it.a: 1 became <nil>"}, lost("it", decode(`{"a": 1}`), decode(`{}`)))
	require.Equal(t, []string{"it.b"}, lost("it", decode(`{"b": [1, 2]}`), decode(`{"b": [1]}`)))
	require.Equal(t, []string{"it.b[0].c: x became y"}, lost("it", decode(`{"b": [{"c": "x"}]}`), decode(`{"b": [{"c": "y"}]}`)))
	require.Equal(t, []string{"it: 2026-11-22T10:00:00Z became 2026-11-22T11:00:00Z"}, lost("it", "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"))
}
