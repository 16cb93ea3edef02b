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

// reader parses the response of an operation with a function of the Go client.
type reader func(*http.Response) (any, error)

func reads[T any](parse func(*http.Response) (T, error)) reader {
	return func(res *http.Response) (any, error) { return parse(res) }
}

var readers = map[string]reader{
	"uploadConsoleDocument":        reads(api.ParseUploadConsoleDocumentResponse),
	"createField":                  reads(api.ParseCreateFieldResponse),
	"createSigner":                 reads(api.ParseCreateSignerResponse),
	"archiveTemplate":              reads(api.ParseArchiveTemplateResponse),
	"cancelBulkSend":               reads(api.ParseCancelBulkSendResponse),
	"updateConsoleUser":            reads(api.ParseUpdateConsoleUserResponse),
	"updateConsoleWebhook":         reads(api.ParseUpdateConsoleWebhookResponse),
	"updateWebhook":                reads(api.ParseUpdateWebhookResponse),
	"updateBranding":               reads(api.ParseUpdateBrandingResponse),
	"updateSettings":               reads(api.ParseUpdateSettingsResponse),
	"updateApp":                    reads(api.ParseUpdateAppResponse),
	"createBuilderSession":         reads(api.ParseCreateBuilderSessionResponse),
	"createBulkSend":               reads(api.ParseCreateBulkSendResponse),
	"createConsoleUser":            reads(api.ParseCreateConsoleUserResponse),
	"createConsoleWebhook":         reads(api.ParseCreateConsoleWebhookResponse),
	"createTemplate":               reads(api.ParseCreateTemplateResponse),
	"createSigningSession":         reads(api.ParseCreateSigningSessionResponse),
	"createEnvelope":               reads(api.ParseCreateEnvelopeResponse),
	"deleteConsoleWebhook":         reads(api.ParseDeleteConsoleWebhookResponse),
	"deleteContact":                reads(api.ParseDeleteContactResponse),
	"deleteDraft":                  reads(api.ParseDeleteDraftResponse),
	"deleteWebhook":                reads(api.ParseDeleteWebhookResponse),
	"disableConsoleUser":           reads(api.ParseDisableConsoleUserResponse),
	"downloadDocument":             reads(api.ParseDownloadDocumentResponse),
	"downloadConsoleDocument":      reads(api.ParseDownloadConsoleDocumentResponse),
	"downloadTemplateDocument":     reads(api.ParseDownloadTemplateDocumentResponse),
	"downloadSealedDocuments":      reads(api.ParseDownloadSealedDocumentsResponse),
	"downloadAttachment":           reads(api.ParseDownloadAttachmentResponse),
	"updateDocument":               reads(api.ParseUpdateDocumentResponse),
	"updateDraft":                  reads(api.ParseUpdateDraftResponse),
	"updateField":                  reads(api.ParseUpdateFieldResponse),
	"updateSigner":                 reads(api.ParseUpdateSignerResponse),
	"updateTemplate":               reads(api.ParseUpdateTemplateResponse),
	"endConsoleUserSessions":       reads(api.ParseEndConsoleUserSessionsResponse),
	"getBulkSend":                  reads(api.ParseGetBulkSendResponse),
	"getDelivery":                  reads(api.ParseGetDeliveryResponse),
	"createSigningLink":            reads(api.ParseCreateSigningLinkResponse),
	"getTemplate":                  reads(api.ParseGetTemplateResponse),
	"getPagePicture":               reads(api.ParseGetPagePictureResponse),
	"getPageLines":                 reads(api.ParseGetPageLinesResponse),
	"getPageText":                  reads(api.ParseGetPageTextResponse),
	"getTemplatePagePicture":       reads(api.ParseGetTemplatePagePictureResponse),
	"getTemplatePageLines":         reads(api.ParseGetTemplatePageLinesResponse),
	"getTemplatePageText":          reads(api.ParseGetTemplatePageTextResponse),
	"getWebhook":                   reads(api.ParseGetWebhookResponse),
	"getHome":                      reads(api.ParseGetHomeResponse),
	"getEnvelope":                  reads(api.ParseGetEnvelopeResponse),
	"getBranding":                  reads(api.ParseGetBrandingResponse),
	"getEnvelopeProgress":          reads(api.ParseGetEnvelopeProgressResponse),
	"getEnvelopeValues":            reads(api.ParseGetEnvelopeValuesResponse),
	"getSettings":                  reads(api.ParseGetSettingsResponse),
	"getUsage":                     reads(api.ParseGetUsageResponse),
	"getConsoleEnvelope":           reads(api.ParseGetConsoleEnvelopeResponse),
	"getSigningPreview":            reads(api.ParseGetSigningPreviewResponse),
	"getApp":                       reads(api.ParseGetAppResponse),
	"listConsoleWebhooks":          reads(api.ParseListConsoleWebhooksResponse),
	"listProblems":                 reads(api.ParseListProblemsResponse),
	"restartEnvelopeWorkflow":      reads(api.ParseRestartEnvelopeWorkflowResponse),
	"remindSigner":                 reads(api.ParseRemindSignerResponse),
	"resendInvitation":             reads(api.ParseResendInvitationResponse),
	"duplicateEnvelope":            reads(api.ParseDuplicateEnvelopeResponse),
	"listBulkSends":                reads(api.ParseListBulkSendsResponse),
	"listClientSecrets":            reads(api.ParseListClientSecretsResponse),
	"listConsoleUsers":             reads(api.ParseListConsoleUsersResponse),
	"listContacts":                 reads(api.ParseListContactsResponse),
	"listDeliveries":               reads(api.ParseListDeliveriesResponse),
	"listEnvelopes":                reads(api.ParseListEnvelopesResponse),
	"listEvents":                   reads(api.ParseListEventsResponse),
	"listTemplates":                reads(api.ParseListTemplatesResponse),
	"listBulkSendRows":             reads(api.ParseListBulkSendRowsResponse),
	"listWebhooks":                 reads(api.ParseListWebhooksResponse),
	"pauseBulkSend":                reads(api.ParsePauseBulkSendResponse),
	"pauseWebhook":                 reads(api.ParsePauseWebhookResponse),
	"pingWebhook":                  reads(api.ParsePingWebhookResponse),
	"prepareDocument":              reads(api.ParsePrepareDocumentResponse),
	"createWebhook":                reads(api.ParseCreateWebhookResponse),
	"deleteDocument":               reads(api.ParseDeleteDocumentResponse),
	"deleteField":                  reads(api.ParseDeleteFieldResponse),
	"deleteSigner":                 reads(api.ParseDeleteSignerResponse),
	"deleteBranding":               reads(api.ParseDeleteBrandingResponse),
	"replaceSigner":                reads(api.ParseReplaceSignerResponse),
	"resendDelivery":               reads(api.ParseResendDeliveryResponse),
	"resendFailedDeliveries":       reads(api.ParseResendFailedDeliveriesResponse),
	"resetConsoleUserSecondFactor": reads(api.ParseResetConsoleUserSecondFactorResponse),
	"resumeBulkSend":               reads(api.ParseResumeBulkSendResponse),
	"resumeWebhook":                reads(api.ParseResumeWebhookResponse),
	"retryBulkSend":                reads(api.ParseRetryBulkSendResponse),
	"revokeBuilderSession":         reads(api.ParseRevokeBuilderSessionResponse),
	"revokeSigningSession":         reads(api.ParseRevokeSigningSessionResponse),
	"rotateWebhookSecret":          reads(api.ParseRotateWebhookSecretResponse),
	"saveContact":                  reads(api.ParseSaveContactResponse),
	"searchEnvelopes":              reads(api.ParseSearchEnvelopesResponse),
	"resendSigningLink":            reads(api.ParseResendSigningLinkResponse),
	"sendEnvelope":                 reads(api.ParseSendEnvelopeResponse),
	"resendCopies":                 reads(api.ParseResendCopiesResponse),
	"setConsoleUserPassword":       reads(api.ParseSetConsoleUserPasswordResponse),
	"streamEvents":                 reads(api.ParseStreamEventsResponse),
	"suggestFields":                reads(api.ParseSuggestFieldsResponse),
	"suggestTemplateFields":        reads(api.ParseSuggestTemplateFieldsResponse),
	"getCurrentUser":               reads(api.ParseGetCurrentUserResponse),
	"testWebhook":                  reads(api.ParseTestWebhookResponse),
	"uploadDocument":               reads(api.ParseUploadDocumentResponse),
	"verifyDocument":               reads(api.ParseVerifyDocumentResponse),
	"verifyDocumentPage":           reads(api.ParseVerifyDocumentPageResponse),
	"voidEnvelope":                 reads(api.ParseVoidEnvelopeResponse),
	"voidConsoleEnvelope":          reads(api.ParseVoidConsoleEnvelopeResponse),
}

// requests maps operations to the Go client's types for their JSON request bodies.
var requests = map[string]func() any{
	"duplicateEnvelope":      is[api.DuplicateEnvelopeJSONRequestBody],
	"createField":            is[api.CreateFieldJSONRequestBody],
	"createSigner":           is[api.CreateSignerJSONRequestBody],
	"updateConsoleUser":      is[api.UpdateConsoleUserJSONRequestBody],
	"updateConsoleWebhook":   is[api.UpdateConsoleWebhookJSONRequestBody],
	"updateWebhook":          is[api.UpdateWebhookJSONRequestBody],
	"updateBranding":         is[api.UpdateBrandingJSONRequestBody],
	"updateSettings":         is[api.UpdateSettingsJSONRequestBody],
	"updateApp":              is[api.UpdateAppJSONRequestBody],
	"createBuilderSession":   is[api.CreateBuilderSessionJSONRequestBody],
	"createBulkSend":         is[api.CreateBulkSendJSONRequestBody],
	"createConsoleUser":      is[api.CreateConsoleUserJSONRequestBody],
	"createConsoleWebhook":   is[api.CreateConsoleWebhookJSONRequestBody],
	"createTemplate":         is[api.CreateTemplateJSONRequestBody],
	"createSigningSession":   is[api.CreateSigningSessionJSONRequestBody],
	"createEnvelope":         is[api.CreateEnvelopeJSONRequestBody],
	"updateDocument":         is[api.UpdateDocumentJSONRequestBody],
	"updateDraft":            is[api.UpdateDraftJSONRequestBody],
	"updateField":            is[api.UpdateFieldJSONRequestBody],
	"updateSigner":           is[api.UpdateSignerJSONRequestBody],
	"updateTemplate":         is[api.UpdateTemplateJSONRequestBody],
	"createSigningLink":      is[api.CreateSigningLinkJSONRequestBody],
	"prepareDocument":        is[api.PrepareDocumentJSONRequestBody],
	"createWebhook":          is[api.CreateWebhookJSONRequestBody],
	"replaceSigner":          is[api.ReplaceSignerJSONRequestBody],
	"resendFailedDeliveries": is[api.ResendFailedDeliveriesJSONRequestBody],
	"rotateWebhookSecret":    is[api.RotateWebhookSecretJSONRequestBody],
	"saveContact":            is[api.SaveContactJSONRequestBody],
	"sendEnvelope":           is[api.SendEnvelopeJSONRequestBody],
	"resendCopies":           is[api.ResendCopiesJSONRequestBody],
	"setConsoleUserPassword": is[api.SetConsoleUserPasswordJSONRequestBody],
	"voidEnvelope":           is[api.VoidEnvelopeJSONRequestBody],
	"voidConsoleEnvelope":    is[api.VoidConsoleEnvelopeJSONRequestBody],
}

func is[T any]() any { return new(T) }

// requireRepresentable checks that the Go client's types can represent the body that was sent.
func requireRepresentable(t *testing.T, operation string, body []byte) {
	t.Helper()
	require.Contains(t, requests, operation, "the table must contain all requests of the Go client: add this one")
	typed := requests[operation]()
	require.NoError(t, json.Unmarshal(body, typed), "%s: %s", operation, body)
	again, err := json.Marshal(typed)
	require.NoError(t, err)
	var sent, represented any
	require.NoError(t, json.Unmarshal(body, &sent))
	require.NoError(t, json.Unmarshal(again, &represented))
	for _, name := range lostMembers(operation, sent, represented) {
		// The client has no field for this member, because the service ignores it.
		require.Equal(t, "createSigningSession.theme.other: true became <nil>", name, "values that the Go client's types cannot represent")
	}
}

// requireRead parses a response with the Go client, and checks that no part of it is lost.
func requireRead(t *testing.T, operation string, a *answer) {
	t.Helper()
	require.Contains(t, readers, operation, "the table must contain all operations of the Go client: add this one")
	res := *a.response
	res.Body = io.NopCloser(bytes.NewReader(a.raw))
	parsed, err := readers[operation](&res)
	require.NoError(t, err, "%s: %s", operation, a.raw)
	if !json.Valid(a.raw) {
		return // a file, or an empty body
	}
	body := reflect.ValueOf(parsed).Elem().FieldByName(fmt.Sprintf("JSON%d", a.status))
	require.True(t, body.IsValid() && !body.IsNil(), "%s: the Go client has no type for the response %d", operation, a.status)
	again, err := json.Marshal(body.Interface())
	require.NoError(t, err)
	var original, read any
	require.NoError(t, json.Unmarshal(a.raw, &original))
	require.NoError(t, json.Unmarshal(again, &read))
	require.Empty(t, lostMembers(operation, original, read), "values that the Go client's types lose")
}

// lostMembers returns the members of a JSON value that are missing after decoding.
func lostMembers(at string, original, read any) (names []string) {
	switch original := original.(type) {
	case nil: // absent and null are equivalent in Go
	case map[string]any:
		members, _ := read.(map[string]any)
		for name, v := range original {
			names = append(names, lostMembers(at+"."+name, v, members[name])...)
		}
	case []any:
		items, _ := read.([]any)
		if len(items) != len(original) {
			return []string{at}
		}
		for i, v := range original {
			names = append(names, lostMembers(fmt.Sprintf("%s[%d]", at, i), v, items[i])...)
		}
	default:
		if !reflect.DeepEqual(original, read) && !sameTime(original, read) {
			names = append(names, fmt.Sprintf("%s: %v became %v", at, original, read))
		}
	}
	return names
}

// sameTime reports whether two strings represent the same time.
func sameTime(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	at, err1 := time.Parse(time.RFC3339Nano, x)
	other, err2 := time.Parse(time.RFC3339Nano, y)
	return err1 == nil && err2 == nil && at.Equal(other)
}

func TestLostMembers(t *testing.T) {
	t.Parallel()
	decode := func(text string) (v any) {
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return v
	}
	original := decode(`{"a": 1, "b": [{"c": "x"}], "at": "2026-11-22T10:00:00.500Z", "none": null}`)
	require.Empty(t, lostMembers("it", original, original))
	require.Empty(t, lostMembers("it", original, decode(`{"a": 1, "b": [{"c": "x", "more": 2}], "at": "2026-11-22T10:00:00.5Z"}`)))
	require.Equal(t, []string{"it.a: 1 became <nil>"}, lostMembers("it", decode(`{"a": 1}`), decode(`{}`)))
	require.Equal(t, []string{"it.b"}, lostMembers("it", decode(`{"b": [1, 2]}`), decode(`{"b": [1]}`)))
	require.Equal(t, []string{"it.b[0].c: x became y"}, lostMembers("it", decode(`{"b": [{"c": "x"}]}`), decode(`{"b": [{"c": "y"}]}`)))
	require.Equal(t, []string{"it: 2026-11-22T10:00:00Z became 2026-11-22T11:00:00Z"}, lostMembers("it", "2026-11-22T10:00:00Z", "2026-11-22T11:00:00Z"))
}
