package store

import (
	"countersign/models"
)

// The functions below return the columns of the envelope aggregate, which Change loads and saves, and the columns of
// other rows that the same transaction writes. The first column is the key.

func envelopeColumns(e *models.Envelope) []column {
	return []column{
		{"id", &e.ID},
		{"app_id", &e.AppID},
		{"tenant_id", &e.TenantID},
		{"status", &e.Status},
		{"subject", &e.Subject},
		{"created_by", &e.CreatedBy},
		{"message", &e.Message},
		{"expires_in_days", &e.ExpiresInDays},
		{"expires_at", &e.ExpiresAt},
		{"hash_original", &e.HashOriginal},
		{"hash_final", &e.HashFinal},
		{"first_document_id", &e.FirstDocumentID},
		{"field_origin", &e.FieldOrigin},
		{"external_id", &e.ExternalID},
		{"metadata", inJSON{value: &e.Metadata}},
		{"labels", inJSON{value: &e.Labels}},
		{"owner_id", &e.OwnerID},
		{"reminder_hours", &e.ReminderHours},
		{"template_id", &e.TemplateID},
		{"template_version", &e.TemplateVersion},
		{"editors", inJSON{value: &e.Editors}},
		{"updated_at", &e.UpdatedAt},
		{"created_at", &e.CreatedAt},
		{"sent_at", &e.SentAt},
		{"completed_at", &e.CompletedAt},
		{"voided_at", &e.VoidedAt},
		{"retention_due_at", &e.RetentionDueAt},
		{"sealing_problem", &e.SealingProblem},
		{"sealing_problem_at", &e.SealingProblemAt},
		{"audit_seq", &e.AuditSeq},
		{"audit_head", &e.AuditHead},
		{"used", inJSON{value: &e.Used}},
		{"appearance_profile", &e.AppearanceProfile},
		{"version", &e.Version},
		{"archived", &e.Archived},
	}
}

func signerColumns(v *models.Signer) []column {
	return []column{
		{"id", &v.ID},
		{"envelope_id", &v.EnvelopeID},
		{"position", &v.Position},
		{"name", &v.Name},
		{"email", &v.Email},
		{"phone", &v.Phone},
		{"mailbox", &v.Mailbox},
		{"routing_order", &v.RoutingOrder},
		{"status", &v.Status},
		{"auth_method", &v.AuthMethod},
		{"link_id", &v.LinkID},
		{"link_issued_at", &v.LinkIssuedAt},
		{"link_expires_at", &v.LinkExpiresAt},
		{"otp_hash", &v.OTPHash},
		{"otp_expires_at", &v.OTPExpiresAt},
		{"otp_failures", &v.OTPFailures},
		{"otp_wrong", &v.OTPWrong},
		{"otp_requests", inJSON{value: &v.OTPRequests}},
		{"otp_verified_at", &v.OTPVerifiedAt},
		{"session_hash", &v.SessionHash},
		{"confirmed_by", &v.ConfirmedBy},
		{"viewed_at", &v.ViewedAt},
		{"consent_at", &v.ConsentAt},
		{"consent_version", &v.ConsentVersion},
		{"signed_at", &v.SignedAt},
		{"declined_at", &v.DeclinedAt},
		{"previous", &v.PreviousJSON},
		{"allow_delegation", &v.AllowDelegation},
		{"delegated", &v.Delegated},
		{"resends", inJSON{value: &v.Resends}},
		{"copies", inJSON{value: &v.Copies}},
		{"reminded_at", &v.RemindedAt},
		{"values_hash", &v.ValuesHash},
		{"shown", &v.Shown},
		{"shown_signers", inJSON{value: &v.ShownSigners}},
		{"shown_confirmed", &v.ShownConfirmed},
		{"ip", &v.IP},
		{"user_agent", &v.UserAgent},
		{"page_views", &v.PageViews},
		{"last_viewed", &v.LastViewed},
		{"pages", inJSON{value: &v.Pages}},
		{"downloads", inJSON{value: &v.Downloads}},
		{"role", &v.Role},
		{"kind", &v.Kind},
		{"language", &v.Language},
		{"silent", &v.Silent},
		{"host_name", &v.HostName},
		{"host_email", &v.HostEmail},
		{"witness_for", &v.WitnessFor},
		{"opened", inJSON{value: &v.Opened}},
	}
}

func documentColumns(d *models.Document) []column {
	return append([]column{
		{"id", &d.ID},
		{"envelope_id", &d.EnvelopeID},
		{"kind", &d.Kind},
		{"original_id", &d.OriginalID},
		{"retention_until", &d.RetentionUntil},
		{"purge_status", &d.PurgeStatus},
		{"timestamped_until", &d.TimestampedUntil},
		{"timestamp_pending", &d.TimestampPending},
		{"notes", inJSON{value: &d.Notes}},
		{"shared", &d.Shared},
	}, pdfColumns(d)...)
}

// pdfColumns returns the columns shared by the documents of envelopes and of templates.
func pdfColumns(d *models.Document) []column {
	return []column{
		{"name", &d.Name},
		{"mime_type", &d.MimeType},
		{"sha256", &d.SHA256},
		{"size", &d.Size},
		{"page_count", &d.PageCount},
		{"pages", inJSON{value: &d.Pages}},
		{"document_order", &d.Order},
		{"blob_key", &d.BlobKey},
		{"encrypted", &d.Encrypted},
		{"seal_facts", &d.SealFacts},
		{"prepared_sha256", &d.PreparedSHA256},
		{"prepared_size", &d.PreparedSize},
		{"prepared_key", &d.PreparedKey},
		{"prepared_encrypted", &d.PreparedEncrypted},
		{"prepared_changes", inJSON{value: &d.PreparedChanges}},
		{"preparation", &d.Preparation},
		{"created_at", &d.CreatedAt},
	}
}

func fieldColumns(f *models.Field) []column {
	return []column{
		{"id", &f.ID},
		{"envelope_id", &f.EnvelopeID},
		{"document_id", &f.DocumentID},
		{"signer_id", &f.SignerID},
		{"position", &f.Position},
		{"type", &f.Type},
		{"page", &f.Page},
		{"x", &f.X},
		{"y", &f.Y},
		{"w", &f.W},
		{"h", &f.H},
		{"required", &f.Required},
		{"origin", &f.Origin},
		{"name", &f.Name},
		{"default_value", &f.DefaultValue},
		{"attributes", inJSON{value: &f.Attributes, optional: true}},
		{"source", &f.Source},
	}
}

func valueColumns(v *models.FieldValue) []column {
	return []column{
		{"field_id", &v.FieldID},
		{"envelope_id", &v.EnvelopeID},
		{"signer_id", &v.SignerID},
		{"text", &v.Text},
		{"image", &v.Image},
		{"image_sha256", &v.ImageSHA256},
		{"created_at", &v.CreatedAt},
	}
}

func savedSignatureColumns(v *models.SavedSignature) []column {
	return []column{
		{"app_id", &v.AppID},
		{"email_key", &v.EmailKey},
		{"tenant_id", &v.TenantID},
		{"auth_method", &v.AuthMethod},
		{"email", &v.Email},
		{"image", &v.Image},
		{"font_label", &v.FontLabel},
		{"updated_at", &v.UpdatedAt},
	}
}

func eventColumns(ev *models.Event) []column {
	return []column{
		{"id", &ev.ID},
		{"envelope_id", &ev.EnvelopeID},
		{"seq", &ev.Seq},
		{"name", &ev.Name},
		{"timestamp", &ev.Timestamp},
		{"actor", &ev.Actor},
		{"ip", &ev.IP},
		{"user_agent", &ev.UserAgent},
		{"detail", inJSON{value: &ev.Detail}},
		{"prev_hash", &ev.PrevHash},
		{"hash", &ev.Hash},
	}
}

var (
	envelopeRows = selectionOf("envelopes", envelopeColumns)
	signerRows   = selectionOf("signers", signerColumns)
	documentRows = selectionOf("documents", documentColumns)
	fieldRows    = selectionOf("fields", fieldColumns)
	eventRows    = selectionOf("audit_events", eventColumns)
)
