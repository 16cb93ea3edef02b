-- +goose Up
CREATE TABLE apps (
    id         text PRIMARY KEY,
    client_id  text     NOT NULL, -- identifies the app when it authenticates; other tables refer to id
    name       text     NOT NULL,
    plan       text     NOT NULL,
    tenants    text     NOT NULL DEFAULT '[]',
    contact    text     NOT NULL DEFAULT '', -- encrypted
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX apps_client_id ON apps (client_id);

CREATE TABLE client_secrets (
    id         text PRIMARY KEY,
    app_id     text     NOT NULL REFERENCES apps (id),
    hash       blob     NOT NULL,
    cipher     blob     NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime
);
CREATE INDEX client_secrets_app ON client_secrets (app_id);

CREATE TABLE signing_keys (
    id         text PRIMARY KEY,
    purpose    text     NOT NULL,
    private    blob     NOT NULL,
    public     blob     NOT NULL,
    created_at datetime NOT NULL,
    retired_at datetime
);
CREATE UNIQUE INDEX signing_keys_live ON signing_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE usage (
    app_id       text    NOT NULL REFERENCES apps (id),
    period_start date    NOT NULL,
    envelopes    integer NOT NULL,
    -- The number of unsent envelopes of bulk sends that already count against the plan.
    reserved     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, period_start)
);

CREATE TABLE envelopes (
    id                 text PRIMARY KEY,
    app_id             text     NOT NULL REFERENCES apps (id),
    tenant_id          text     NOT NULL,
    status             text     NOT NULL,
    subject            text,
    created_by         text     NOT NULL,
    message            text,
    expires_in_days    integer,
    expires_at         datetime,
    hash_original      text,
    hash_final         text,
    first_document_id  text     NOT NULL,
    field_origin       text     NOT NULL DEFAULT 'top-left',
    created_at         datetime NOT NULL,
    sent_at            datetime,
    completed_at       datetime,
    voided_at          datetime,
    retention_due_at   datetime, -- time of the next deletion reminder or of the purge
    sealing_problem    text,
    sealing_problem_at datetime,
    audit_seq          integer  NOT NULL,
    audit_head         text     NOT NULL,
    version            integer  NOT NULL,
    -- Set by the sender, except for editors, which lists the actors who have edited the draft.
    external_id        text,
    metadata           text,
    labels             text, -- list of strings, as JSON
    owner_id           text, -- console user who created or sent the envelope
    reminder_hours     integer,
    editors            text,
    updated_at         datetime NOT NULL DEFAULT '1970-01-01 00:00:00+00:00',
    template_id        text,
    template_version   integer  NOT NULL DEFAULT 0,
    archived           boolean  NOT NULL DEFAULT false,
    archive_retry_at   datetime, -- time at which to retry archiving after a failure
    -- The used part of the capacity of the envelope's sealed documents, as JSON.
    used               text,
    -- The appearance profile of the pages, which is set when the envelope is sent. Zero means the current profile.
    appearance_profile integer  NOT NULL DEFAULT 0
);
-- IDs are version 7 UUIDs, so their order is the order of creation.
CREATE INDEX envelopes_list ON envelopes (app_id, tenant_id, id DESC);
CREATE INDEX envelopes_list_status ON envelopes (app_id, tenant_id, status, id DESC);
-- The console lists the envelopes of all tenants of an app, and can filter them by the day of creation.
CREATE INDEX envelopes_app ON envelopes (app_id, id DESC);
CREATE INDEX envelopes_app_status ON envelopes (app_id, status, id DESC);
CREATE INDEX envelopes_created ON envelopes (app_id, created_at);
CREATE INDEX envelopes_unsealed ON envelopes (id) WHERE sealing_problem IS NOT NULL;
-- An external ID is unique among the envelopes of a tenant, except for those that ended without being completed.
CREATE UNIQUE INDEX envelopes_external_id ON envelopes (app_id, tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status NOT IN ('voided', 'declined', 'expired', 'deleted');
-- For lists that are sorted by the time of the last change.
CREATE INDEX envelopes_updated ON envelopes (app_id, tenant_id, updated_at, id);
CREATE INDEX envelopes_template ON envelopes (app_id, template_id, id) WHERE template_id IS NOT NULL;
CREATE INDEX envelopes_to_archive ON envelopes (updated_at)
    WHERE NOT archived AND status IN ('completed', 'declined', 'voided', 'expired', 'deleted');
-- For lists that are filtered by external ID. They include envelopes that are missing from envelopes_external_id.
CREATE INDEX envelopes_list_external_id ON envelopes (app_id, tenant_id, external_id, id) WHERE external_id IS NOT NULL;
-- Read by the schedule "reconcile" (store/maintenance_reconcile.go).
CREATE INDEX envelopes_unfinished ON envelopes (id) WHERE status IN ('sent', 'in_progress', 'sealing');
-- Open envelopes of one app or of all apps whose deadline has passed or is near (store/envelope_problems.go,
-- store/envelope_inbox.go).
CREATE INDEX envelopes_deadline ON envelopes (expires_at, app_id) WHERE status IN ('sent', 'in_progress');
-- Recently declined envelopes (store/envelope_inbox.go).
CREATE INDEX envelopes_declined ON envelopes (app_id, updated_at) WHERE status = 'declined';
-- The newest envelopes of a console user (store/envelope_recipients.go).
CREATE INDEX envelopes_owner ON envelopes (owner_id, id DESC) WHERE owner_id IS NOT NULL;
-- Envelopes that are being sealed (store/maintenance_lag.go).
CREATE INDEX envelopes_sealing ON envelopes (id) WHERE status = 'sealing';
-- Read by the schedule "cleanup" (store/maintenance_retention.go).
CREATE INDEX envelopes_retention_due ON envelopes (retention_due_at) WHERE retention_due_at IS NOT NULL;

-- The last run of the schedule "reconcile".
CREATE TABLE reconcile_runs (
    id      integer PRIMARY KEY CHECK (id = 1),
    at      datetime NOT NULL,
    missing integer NOT NULL
);

CREATE TABLE signers (
    id               text PRIMARY KEY,
    envelope_id      text    NOT NULL REFERENCES envelopes (id),
    position         integer NOT NULL,
    name             text    NOT NULL,
    email            text    NOT NULL, -- encrypted
    phone            text, -- encrypted
    mailbox          integer NOT NULL, -- position of the first signer of the envelope with the same address
    routing_order    integer NOT NULL,
    status           text    NOT NULL,
    auth_method      text    NOT NULL,
    link_id          text,
    link_issued_at   datetime,
    link_expires_at  datetime,
    otp_hash         blob,
    otp_expires_at   datetime,
    otp_failures     integer NOT NULL DEFAULT 0,
    otp_wrong        integer NOT NULL DEFAULT 0,
    otp_requests     text,
    otp_verified_at  datetime,
    session_hash     blob,
    confirmed_by     blob, -- client that entered the one-time code
    viewed_at        datetime,
    consent_at       datetime,
    consent_version  text    NOT NULL DEFAULT '',
    signed_at        datetime,
    declined_at      datetime,
    values_hash      text    NOT NULL DEFAULT '',
    shown            text    NOT NULL DEFAULT '', -- digest of the displayed values of other signers
    shown_signers    text,
    shown_confirmed  boolean NOT NULL DEFAULT false,
    ip               text    NOT NULL DEFAULT '',
    user_agent       text    NOT NULL DEFAULT '',
    page_views       integer NOT NULL DEFAULT 0,
    last_viewed      text    NOT NULL DEFAULT '',
    downloads        text, -- time of the last recorded download of each sealed document
    role             text    NOT NULL DEFAULT '',
    previous         text, -- encrypted; the replaced signers
    allow_delegation boolean NOT NULL DEFAULT false,
    delegated        boolean NOT NULL DEFAULT false,
    resends          text, -- times of recent requests for a new invitation
    reminded_at      datetime, -- time of the sender's last reminder request
    copies           text, -- times of recent requests for the sealed files
    -- The recipient's kind and language.
    kind             text    NOT NULL DEFAULT 'signer',
    language         text    NOT NULL DEFAULT '',
    silent           boolean NOT NULL DEFAULT false, -- the sender, not the service, delivers the link
    host_name        text    NOT NULL DEFAULT '', -- host of an in-person signer
    host_email       text, -- encrypted
    witness_for      text    NOT NULL DEFAULT '', -- role of the signer whose signature this signer witnesses
    opened           text, -- documents opened by a recipient who must open all of them
    -- The pages that the signer has viewed, with the number of repeated views, as JSON.
    pages            text
);
CREATE INDEX signers_envelope ON signers (envelope_id, position);
-- A short link contains the ID of the signing link.
CREATE INDEX signers_link ON signers (link_id) WHERE link_id IS NOT NULL;

CREATE TABLE documents (
    id                 text PRIMARY KEY,
    envelope_id        text     NOT NULL REFERENCES envelopes (id),
    kind               text     NOT NULL,
    original_id        text,
    name               text     NOT NULL,
    mime_type          text     NOT NULL,
    sha256             text     NOT NULL,
    size               integer  NOT NULL,
    page_count         integer  NOT NULL,
    pages              text,
    document_order     integer  NOT NULL,
    blob_key           text     NOT NULL,
    encrypted          boolean  NOT NULL DEFAULT false, -- whether the stored file must be encrypted
    retention_until    datetime,
    purge_status       text     NOT NULL,
    timestamped_until  datetime, -- expiry of the last document time-stamp's certificate
    timestamp_pending  boolean  NOT NULL DEFAULT false, -- the time-stamp authority was unavailable during sealing
    seal_facts         text     NOT NULL DEFAULT '', -- examination results; if empty, the document is examined again
    created_at         datetime NOT NULL,
    -- The prepared file, which recipients read instead of an original from which content was removed.
    prepared_sha256    text     NOT NULL DEFAULT '',
    prepared_size      bigint   NOT NULL DEFAULT 0,
    prepared_key       text     NOT NULL DEFAULT '',
    prepared_encrypted boolean  NOT NULL DEFAULT false,
    prepared_changes   text, -- numbers of removals by kind
    preparation        text     NOT NULL DEFAULT '', -- description of the preparation, for the seal record
    -- Whether the files also belong to a template or to another envelope. They are retained as long as any row refers
    -- to them.
    shared             boolean  NOT NULL DEFAULT false,
    -- The codes of warnings about content that programs may display differently, as JSON.
    notes              text,
    UNIQUE (envelope_id, kind, document_order)
);
CREATE INDEX documents_shared_blob ON documents (blob_key) WHERE shared;
CREATE INDEX documents_shared_prepared ON documents (prepared_key) WHERE shared AND prepared_key <> '';
CREATE INDEX documents_timestamp_pending ON documents (envelope_id) WHERE timestamp_pending;

CREATE TABLE fields (
    id            text PRIMARY KEY,
    envelope_id   text    NOT NULL REFERENCES envelopes (id),
    document_id   text    NOT NULL,
    signer_id     text    NOT NULL REFERENCES signers (id),
    position      integer NOT NULL,
    type          text    NOT NULL,
    page          integer NOT NULL,
    x             real    NOT NULL,
    y             real    NOT NULL,
    w             real    NOT NULL,
    h             real    NOT NULL,
    required      boolean NOT NULL,
    origin        text    NOT NULL,
    name          text    NOT NULL DEFAULT '',
    default_value text    NOT NULL DEFAULT '', -- encrypted
    attributes    text, -- JSON; NULL if there are none
    -- The origin of the field: tag, form, or empty for a request.
    source        text    NOT NULL DEFAULT ''
);
CREATE INDEX fields_envelope ON fields (envelope_id, position);

CREATE TABLE field_values (
    field_id     text PRIMARY KEY REFERENCES fields (id),
    envelope_id  text     NOT NULL,
    signer_id    text     NOT NULL,
    text         text     NOT NULL, -- encrypted, like the next two columns
    image        blob,
    image_sha256 text     NOT NULL DEFAULT '', -- identifies the picture if it is not loaded
    created_at   datetime NOT NULL
);
CREATE INDEX field_values_envelope ON field_values (envelope_id);

-- The signature that a person last used, by tenant and authentication method. The email_key is a keyed hash of the
-- address, the tenant and the method.
CREATE TABLE saved_signatures (
    app_id      text     NOT NULL REFERENCES apps (id),
    tenant_id   text     NOT NULL DEFAULT '',
    auth_method text     NOT NULL DEFAULT '',
    email_key   text     NOT NULL,
    email       text     NOT NULL DEFAULT '', -- encrypted, like the next two columns
    image       blob     NOT NULL,
    font_label  text,
    updated_at  datetime NOT NULL,
    PRIMARY KEY (app_id, email_key)
);

CREATE TABLE audit_events (
    id          text PRIMARY KEY,
    envelope_id text     NOT NULL REFERENCES envelopes (id),
    seq         integer  NOT NULL,
    name        text     NOT NULL,
    timestamp   datetime NOT NULL,
    actor       text     NOT NULL,
    ip          text,
    user_agent  text,
    detail      text,
    prev_hash   text     NOT NULL,
    hash        text     NOT NULL,
    UNIQUE (envelope_id, seq)
);
-- +goose StatementBegin
CREATE TRIGGER audit_events_no_update BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
-- +goose StatementEnd
-- An audit event can be deleted only if an archive contains it.
-- +goose StatementBegin
CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM envelope_archives WHERE envelope_id = OLD.envelope_id AND released_at IS NULL AND events >= OLD.seq)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
-- +goose StatementEnd

CREATE TABLE webhooks (
    id              text PRIMARY KEY,
    app_id          text     NOT NULL REFERENCES apps (id),
    url             text     NOT NULL,
    events          text     NOT NULL,
    secret          blob,
    previous_secret blob, -- also signs deliveries until previous_until
    previous_until  datetime,
    active          boolean  NOT NULL,
    failing_since   datetime,
    last_error      text     NOT NULL DEFAULT '',
    disabled_at     datetime,
    disabled_reason text     NOT NULL DEFAULT '',
    created_at      datetime NOT NULL,
    -- The additional data that the endpoint receives.
    include         text
);
CREATE INDEX webhooks_app ON webhooks (app_id);

CREATE TABLE webhook_events (
    id          text PRIMARY KEY,
    app_id      text     NOT NULL,
    envelope_id text     NOT NULL,
    name        text     NOT NULL,
    body        blob     NOT NULL, -- encrypted
    created_at  datetime NOT NULL,
    -- The events of an app can be read in order (store/webhook_events.go). An event is assigned its position when it is
    -- first read after its commit, so that it never appears before an event that was already read. In SQLite, the rowid
    -- is the order of insertion.
    tenant_id   text     NOT NULL DEFAULT '',
    position    integer, -- position in the app's feed; NULL until it is assigned
    values_body blob -- encrypted; the body with the values entered by signers
);
CREATE INDEX webhook_events_envelope ON webhook_events (envelope_id);
CREATE UNIQUE INDEX webhook_events_position ON webhook_events (app_id, position) WHERE position IS NOT NULL;
CREATE INDEX webhook_events_unread ON webhook_events (app_id) WHERE position IS NULL;
CREATE INDEX webhook_events_time ON webhook_events (created_at);

CREATE TABLE webhook_deliveries (
    id           text PRIMARY KEY,
    app_id       text     NOT NULL,
    webhook_id   text     NOT NULL,
    event_id     text     NOT NULL REFERENCES webhook_events (id),
    envelope_id  text     NOT NULL,
    event        text     NOT NULL,
    status       text     NOT NULL,
    attempts     integer  NOT NULL DEFAULT 0,
    run          integer  NOT NULL DEFAULT 0, -- number of times that the delivery was resent
    run_attempts integer  NOT NULL DEFAULT 0, -- attempts since the delivery was last resent or created
    created_at   datetime NOT NULL,
    delivered_at datetime,
    failed_at    datetime
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (app_id, id DESC);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (app_id, status, id DESC);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, status);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);
-- For lists of the deliveries of one type of event.
CREATE INDEX webhook_deliveries_name ON webhook_deliveries (app_id, event, id DESC);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (id) WHERE status = 'pending';

CREATE TABLE delivery_attempts (
    id          text PRIMARY KEY,
    delivery_id text     NOT NULL REFERENCES webhook_deliveries (id),
    number      integer  NOT NULL,
    at          datetime NOT NULL,
    status      integer  NOT NULL,
    latency_ms  integer  NOT NULL,
    error       text     NOT NULL,
    body        blob, -- encrypted
    next_at     datetime -- time of the next attempt
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id, number);

CREATE TABLE outbox (
    seq        integer PRIMARY KEY AUTOINCREMENT,
    id         text     NOT NULL,
    key        text     NOT NULL,
    kind       text     NOT NULL,
    refs       text     NOT NULL,
    lane       text     NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- endpoint of a delivery, or app of any other row
    attempts   integer  NOT NULL DEFAULT 0,
    not_before datetime NOT NULL,
    created_at datetime NOT NULL
);
CREATE INDEX outbox_key ON outbox (key, seq);
-- Lanes are processed in turn, so that no lane waits for another lane's backlog.
CREATE INDEX outbox_lane ON outbox (lane, seq);

CREATE TABLE mails (
    id          text PRIMARY KEY,
    envelope_id text     NOT NULL,
    signer_id   text     NOT NULL,
    kind        text     NOT NULL,
    attempts    integer  NOT NULL DEFAULT 0,
    created_at  datetime NOT NULL,
    sent_at     datetime,
    failed_at   datetime,
    error       text     NOT NULL DEFAULT '',
    -- The time at which the server first rejected the email temporarily. The email is retried for five days after that.
    refused_at  datetime,
    -- The outbox row that requested the copies, reminder or notification. A lost workflow is restarted from this row.
    request_id  text
);
CREATE INDEX mails_envelope ON mails (envelope_id);
-- Contains all columns that the inbox needs (store/envelope_inbox.go), so that the rows are not read.
CREATE INDEX mails_failed ON mails (envelope_id, signer_id, created_at) WHERE failed_at IS NOT NULL;
CREATE INDEX mails_requested ON mails (request_id) WHERE request_id IS NOT NULL AND sent_at IS NULL AND failed_at IS NULL;
-- Rejected emails (store/envelope_problems.go).
CREATE INDEX mails_rejected ON mails (created_at) WHERE error <> '' AND sent_at IS NULL;

CREATE TABLE console_users (
    id            text PRIMARY KEY,
    app_id        text     NOT NULL REFERENCES apps (id),
    email         text     NOT NULL, -- encrypted
    email_key     text     NOT NULL UNIQUE, -- keyed hash of the email address
    name          text     NOT NULL,
    password_hash blob     NOT NULL,
    role          text     NOT NULL,
    created_at    datetime NOT NULL,
    disabled_at   datetime,
    -- The SHA-256 hash of the OpenID provider's issuer and its identifier for the user. NULL if the user signs in with
    -- a password.
    oidc_subject  blob
);
CREATE INDEX console_users_app ON console_users (app_id, id);
CREATE UNIQUE INDEX console_users_oidc_subject ON console_users (oidc_subject);

CREATE TABLE contacts (
    id         text PRIMARY KEY,
    app_id     text     NOT NULL REFERENCES apps (id),
    name       text     NOT NULL, -- encrypted, like the email address and phone number
    email      text     NOT NULL,
    email_key  text     NOT NULL, -- keyed hash of the email address
    phone      text,
    created_at datetime NOT NULL,
    UNIQUE (app_id, email_key)
);
-- An app's contacts are read in this order and searched outside the database.
CREATE INDEX contacts_app ON contacts (app_id, id);

CREATE TABLE embedded_sessions (
    id             text PRIMARY KEY,
    app_id         text     NOT NULL REFERENCES apps (id),
    tenant_id      text     NOT NULL,
    envelope_id    text     NOT NULL REFERENCES envelopes (id),
    signer_id      text     NOT NULL REFERENCES signers (id),
    token_hash     blob     NOT NULL UNIQUE,
    allowed_origin text     NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    created_at     datetime NOT NULL,
    expires_at     datetime NOT NULL,
    revoked_at     datetime
);
CREATE INDEX embedded_sessions_expiry ON embedded_sessions (expires_at);

-- The row with the tenant_id '' contains the app's defaults for all of its tenants.
CREATE TABLE tenant_settings (
    app_id                  text     NOT NULL REFERENCES apps (id),
    tenant_id               text     NOT NULL,
    default_expiry_days     integer,
    reminder_interval_hours integer,
    retention_days          integer,
    field_origin            text,
    sender_name             text,
    language                text,
    reply_to                text, -- encrypted
    notify_email            text, -- encrypted
    updated_at              datetime NOT NULL,
    -- The branding of the tenant's emails, pages and certificates.
    primary_color           text,
    footer                  text,
    support_url             text,
    logo_sha256             text,
    PRIMARY KEY (app_id, tenant_id)
);

CREATE TABLE idempotency_keys (
    id          text PRIMARY KEY,
    scope       text     NOT NULL,
    method      text     NOT NULL,
    path        text     NOT NULL,
    key         text     NOT NULL,
    fingerprint blob     NOT NULL,
    committed   boolean  NOT NULL,
    status      integer  NOT NULL,
    header      text     NOT NULL,
    body        blob,
    created_at  datetime NOT NULL,
    expires_at  datetime NOT NULL,
    UNIQUE (scope, method, path, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- The numbers of requests in time windows, shared by all processes.
CREATE TABLE rate_windows (
    key        text     NOT NULL,
    starts_at  datetime NOT NULL,
    used       integer  NOT NULL,
    expires_at datetime NOT NULL,
    PRIMARY KEY (key, starts_at)
);
CREATE INDEX rate_windows_expiry ON rate_windows (expires_at);

-- The numbers of envelopes by status, as a compacted total and the changes since then. Changes are only inserted, so
-- that concurrent changes of a tenant's envelopes do not wait for each other.
CREATE TABLE envelope_counts (
    app_id    text    NOT NULL,
    tenant_id text    NOT NULL,
    status    text    NOT NULL,
    n         integer NOT NULL,
    PRIMARY KEY (app_id, tenant_id, status)
);

CREATE TABLE envelope_count_changes (
    seq       integer PRIMARY KEY AUTOINCREMENT,
    app_id    text    NOT NULL,
    tenant_id text    NOT NULL,
    status    text    NOT NULL,
    change    integer NOT NULL
);
CREATE INDEX envelope_count_changes_of ON envelope_count_changes (app_id, tenant_id, status, change);

-- The data for searches in the console: the subject and names in folded form (store/envelope_search.go), and hashes of
-- the addresses and their domains.
CREATE TABLE envelope_search (
    envelope_id text PRIMARY KEY REFERENCES envelopes (id),
    app_id      text NOT NULL,
    text        text NOT NULL,
    addresses   text NOT NULL DEFAULT '{}'
);

-- Lists of the heads of audit chains that a time-stamp authority has confirmed. The lists are in the file store.
CREATE TABLE audit_anchors (
    number   integer PRIMARY KEY,
    at       datetime NOT NULL,
    digest   text     NOT NULL, -- SHA-256 hash of the list
    entries  integer  NOT NULL,
    blob_key text     NOT NULL,
    token    blob     NOT NULL -- RFC 3161 time-stamp over the digest
);

-- The sessions of console users. A session ends when its row is deleted.
CREATE TABLE console_sessions (
    id         text PRIMARY KEY, -- ID in the session's token
    user_id    text     NOT NULL REFERENCES console_users (id),
    device     blob     NOT NULL, -- encrypted; IP address and user agent
    created_at datetime NOT NULL,
    seen_at    datetime NOT NULL, -- time of the user's last activity, to the minute
    expires_at datetime NOT NULL,
    -- The time at which the user authenticated at the provider. NULL if the user authenticated at the service, or if
    -- the provider did not specify the time.
    proved_at  datetime
);
CREATE INDEX console_sessions_user ON console_sessions (user_id);
CREATE INDEX console_sessions_expires ON console_sessions (expires_at);

-- The authenticator app of a console user (RFC 6238), and the recovery codes.
CREATE TABLE console_factors (
    id           text PRIMARY KEY REFERENCES console_users (id),
    secret       blob     NOT NULL, -- encrypted
    created_at   datetime NOT NULL,
    confirmed_at datetime, -- NULL until the first code is entered
    last_step    bigint   NOT NULL -- time step of the last accepted code, which cannot be used again
);

CREATE TABLE console_recovery_codes (
    user_id text NOT NULL REFERENCES console_users (id),
    hash    blob NOT NULL, -- SHA-256 hash; the codes are random
    PRIMARY KEY (user_id, hash)
);

-- The email notification settings of a console user. Without a row, the defaults apply.
CREATE TABLE console_notifications (
    user_id         text PRIMARY KEY REFERENCES console_users (id),
    frequency       text    NOT NULL,
    completed       boolean NOT NULL,
    declined        boolean NOT NULL,
    expired         boolean NOT NULL,
    bounced         boolean NOT NULL,
    sealing_problem boolean NOT NULL,
    opened          boolean NOT NULL,
    signed          boolean NOT NULL,
    language        text, -- NULL means the workspace's language
    time_zone       text    NOT NULL,
    digest_at       datetime -- NULL if no digest is due
);
CREATE INDEX console_notifications_digest ON console_notifications (digest_at) WHERE digest_at IS NOT NULL;

-- Notifications for the next daily digest of a console user.
CREATE TABLE console_digest_items (
    event_id    text PRIMARY KEY, -- event in the audit trail
    user_id     text NOT NULL REFERENCES console_users (id),
    envelope_id text NOT NULL,
    kind        text NOT NULL,
    signer_id   text,
    at          datetime NOT NULL
);
CREATE INDEX console_digest_items_user ON console_digest_items (user_id, at);

-- The current and former sealing certificates of this service. Each certificate is trusted individually. Other
-- certificates of its authority are not trusted.
CREATE TABLE seal_certificates (
    id         text PRIMARY KEY, -- SHA-256 hash of the certificate
    der        blob     NOT NULL,
    created_at datetime NOT NULL
);

-- The time from which a record key or sealing certificate is no longer trusted. Rows are only added.
CREATE TABLE key_revocations (
    seq         integer PRIMARY KEY AUTOINCREMENT,
    key_id      text     NOT NULL, -- ID in signing_keys or seal_certificates
    at          datetime NOT NULL,
    reason      text     NOT NULL,
    recorded_at datetime NOT NULL
);
-- +goose StatementBegin
CREATE TRIGGER key_revocations_no_update BEFORE UPDATE ON key_revocations
BEGIN
    SELECT RAISE(ABORT, 'key_revocations is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER key_revocations_no_delete BEFORE DELETE ON key_revocations
BEGIN
    SELECT RAISE(ABORT, 'key_revocations is append-only');
END;
-- +goose StatementEnd

CREATE TABLE event_feeds (
    app_id        text PRIMARY KEY REFERENCES apps (id),
    last_position integer NOT NULL DEFAULT 0
);

-- Files uploaded by signers. A file that is not part of a signature is removed after a day.
CREATE TABLE attachments (
    id          text PRIMARY KEY,
    envelope_id text     NOT NULL REFERENCES envelopes (id),
    field_id    text     NOT NULL REFERENCES fields (id),
    signer_id   text     NOT NULL,
    name        text     NOT NULL, -- encrypted
    mime_type   text     NOT NULL,
    sha256      text     NOT NULL,
    size        integer  NOT NULL,
    blob_key    text     NOT NULL,
    encrypted   boolean  NOT NULL,
    used        boolean  NOT NULL,
    created_at  datetime NOT NULL,
    purged_at   datetime,
    -- Whether the file belongs to a replaced person. Such a file is not accessible, and is removed.
    withdrawn   boolean  NOT NULL DEFAULT false
);
CREATE INDEX attachments_envelope ON attachments (envelope_id);
CREATE INDEX attachments_unused ON attachments (created_at) WHERE NOT used;
CREATE INDEX attachments_withdrawn ON attachments (created_at) WHERE withdrawn;

-- Templates of envelopes. A template with the tenant_id '' is available to all tenants of the app.
CREATE TABLE templates (
    id          text PRIMARY KEY,
    app_id      text     NOT NULL REFERENCES apps (id),
    tenant_id   text     NOT NULL,
    external_id text,
    name        text     NOT NULL,
    labels      text, -- list of strings, as JSON
    version     integer  NOT NULL, -- newest version
    created_by  text     NOT NULL,
    created_at  datetime NOT NULL,
    updated_at  datetime NOT NULL,
    archived_at datetime
);
CREATE INDEX templates_list ON templates (app_id, id DESC);
-- An external ID is unique among the templates of a tenant that are not archived.
CREATE UNIQUE INDEX templates_external_id ON templates (app_id, tenant_id, external_id)
    WHERE external_id IS NOT NULL AND archived_at IS NULL;

-- A version is never changed.
CREATE TABLE template_versions (
    id          text PRIMARY KEY,
    template_id text     NOT NULL REFERENCES templates (id),
    number      integer  NOT NULL,
    content     text     NOT NULL, -- encrypted; text, roles and fields
    created_by  text     NOT NULL,
    created_at  datetime NOT NULL,
    UNIQUE (template_id, number)
);

-- The files of a version. Several versions, and the envelopes created from them, can share a file.
CREATE TABLE template_documents (
    id                 text PRIMARY KEY,
    version_id         text     NOT NULL REFERENCES template_versions (id),
    template_id        text     NOT NULL,
    document_id        text     NOT NULL, -- ID used by fields; the same in every version that contains the document
    name               text     NOT NULL,
    mime_type          text     NOT NULL,
    sha256             text     NOT NULL,
    size               integer  NOT NULL,
    page_count         integer  NOT NULL,
    pages              text,
    document_order     integer  NOT NULL,
    warnings           text,
    blob_key           text     NOT NULL,
    encrypted          boolean  NOT NULL,
    seal_facts         text     NOT NULL,
    prepared_sha256    text     NOT NULL,
    prepared_size      integer  NOT NULL,
    prepared_key       text     NOT NULL,
    prepared_encrypted boolean  NOT NULL,
    prepared_changes   text,
    preparation        text     NOT NULL,
    created_at         datetime NOT NULL,
    released           boolean  NOT NULL DEFAULT false, -- the template is archived and no longer needs the file
    UNIQUE (version_id, document_order)
);
CREATE INDEX template_documents_template ON template_documents (template_id);
CREATE INDEX template_documents_blob ON template_documents (blob_key);
CREATE INDEX template_documents_prepared ON template_documents (prepared_key) WHERE prepared_key <> '';

-- Bulk sends. Each creates many envelopes from one version of a template.
CREATE TABLE bulk_sends (
    id               text PRIMARY KEY,
    app_id           text     NOT NULL REFERENCES apps (id),
    tenant_id        text     NOT NULL,
    template_id      text     NOT NULL,
    template_version integer  NOT NULL,
    name             text     NOT NULL,
    status           text     NOT NULL,
    per_minute       integer  NOT NULL, -- 0 means unlimited
    total            integer  NOT NULL,
    actor            text     NOT NULL,
    created_by       text     NOT NULL,
    created_at       datetime NOT NULL,
    completed_at     datetime
);
CREATE INDEX bulk_sends_list ON bulk_sends (app_id, id DESC);
CREATE INDEX bulk_sends_tenant ON bulk_sends (app_id, tenant_id, id DESC);

CREATE TABLE bulk_send_rows (
    id           text PRIMARY KEY,
    bulk_send_id text    NOT NULL REFERENCES bulk_sends (id),
    position     integer NOT NULL, -- starting at 1
    external_id  text,
    status       text    NOT NULL,
    data         text    NOT NULL, -- encrypted; input for the envelope; empty after the row was sent or canceled
    envelope_id  text,
    error_code   text    NOT NULL DEFAULT '',
    error        text    NOT NULL DEFAULT '',
    settled_at   datetime,
    reserved_in  text    NOT NULL DEFAULT '' -- usage period
);
-- Each row of the request is one row here, and is sent as one envelope.
CREATE UNIQUE INDEX bulk_send_rows_position ON bulk_send_rows (bulk_send_id, position);
CREATE UNIQUE INDEX bulk_send_rows_envelope ON bulk_send_rows (envelope_id) WHERE envelope_id IS NOT NULL;
CREATE INDEX bulk_send_rows_status ON bulk_send_rows (bulk_send_id, status, position);
-- The input of failed rows is removed some time after the failure.
CREATE INDEX bulk_send_rows_failed ON bulk_send_rows (settled_at) WHERE status = 'failed' AND data <> '';

CREATE TABLE tenant_logos (
    app_id    text NOT NULL REFERENCES apps (id),
    tenant_id text NOT NULL,
    sha256    text NOT NULL,
    png       blob NOT NULL,
    PRIMARY KEY (app_id, tenant_id)
);

-- A builder session permits editing one draft or template in a page of one origin.
CREATE TABLE builder_sessions (
    id             text PRIMARY KEY,
    app_id         text     NOT NULL REFERENCES apps (id),
    tenant_id      text     NOT NULL,
    envelope_id    text     REFERENCES envelopes (id) ON DELETE CASCADE,
    template_id    text     REFERENCES templates (id) ON DELETE CASCADE,
    token_hash     blob     NOT NULL UNIQUE,
    allowed_origin text     NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    features       text     NOT NULL, -- JSON
    created_at     datetime NOT NULL,
    expires_at     datetime NOT NULL,
    revoked_at     datetime,
    CONSTRAINT builder_sessions_one CHECK ((envelope_id IS NULL) <> (template_id IS NULL))
);
CREATE INDEX builder_sessions_expiry ON builder_sessions (expires_at);
CREATE INDEX builder_sessions_envelope ON builder_sessions (envelope_id);
CREATE INDEX builder_sessions_template ON builder_sessions (template_id);

-- Pending challenges of users who are signing in. Each can be used once, and only by the browser or session for which
-- it was created.
CREATE TABLE console_challenges (
    id         text PRIMARY KEY, -- SHA-256 hash of the expected answer, in hexadecimal
    kind       text     NOT NULL,
    holder     blob     NOT NULL, -- SHA-256 hash of a secret of that browser or session
    user_id    text     REFERENCES console_users (id),
    data       blob     NOT NULL, -- encrypted
    expires_at datetime NOT NULL
);
CREATE INDEX console_challenges_expires ON console_challenges (expires_at);

-- Passkeys (WebAuthn), which are second factors of console users, like authenticator apps.
CREATE TABLE console_passkeys (
    id            text PRIMARY KEY,
    user_id       text     NOT NULL REFERENCES console_users (id),
    credential_id blob     NOT NULL UNIQUE, -- ID assigned by the authenticator
    credential    blob     NOT NULL, -- public key and counter, as JSON
    name          text     NOT NULL, -- name chosen by the user
    created_at    datetime NOT NULL,
    used_at       datetime
);
CREATE INDEX console_passkeys_user ON console_passkeys (user_id, id);

-- Audit events and values of ended envelopes can be moved to files (store/archive_file.go).
CREATE TABLE envelope_archives (
    id            text PRIMARY KEY,
    envelope_id   text     NOT NULL REFERENCES envelopes (id),
    sha256        text     NOT NULL, -- hash of the file
    size          integer  NOT NULL,
    key           blob, -- encrypted; key of the file; NULL after the rows have been restored
    events        integer  NOT NULL,
    last_event_at datetime NOT NULL,
    created_at    datetime NOT NULL,
    released_at   datetime -- time at which the rows were restored to the database
);
-- Each envelope is in at most one archive.
CREATE UNIQUE INDEX envelope_archives_envelope ON envelope_archives (envelope_id) WHERE released_at IS NULL;
CREATE INDEX envelope_archives_released ON envelope_archives (released_at) WHERE released_at IS NOT NULL;
CREATE INDEX envelope_archives_last_event ON envelope_archives (last_event_at);

-- Images and text of pages, created on the first request. Each is a separate file next to the document's stored file.
CREATE TABLE page_files (
    blob_key   text    NOT NULL, -- blob key of the document's stored file
    profile    integer NOT NULL,
    page       integer NOT NULL,
    level      integer NOT NULL, -- 0 means the text
    appearance text    NOT NULL, -- hash of the pixels, or of the text
    media_type text    NOT NULL,
    width      integer NOT NULL, -- pixels
    height     integer NOT NULL,
    sha256     text    NOT NULL, -- hash of the file
    encrypted  boolean NOT NULL,
    created_at datetime NOT NULL,
    PRIMARY KEY (blob_key, profile, page, level)
);
