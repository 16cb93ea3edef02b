-- +goose Up
-- Bulk sends: one request, many envelopes from one version of a template.
CREATE TABLE bulk_sends (
    id               uuid PRIMARY KEY,
    app_id           uuid NOT NULL REFERENCES apps (id),
    tenant_id        text NOT NULL,
    template_id      uuid NOT NULL,
    template_version integer NOT NULL,
    name             text NOT NULL,
    status           text NOT NULL,
    per_minute       integer NOT NULL, -- 0: as many as can be sent
    total            integer NOT NULL,
    actor            text NOT NULL,
    created_by       text NOT NULL,
    created_at       timestamptz NOT NULL,
    completed_at     timestamptz
);
CREATE INDEX bulk_sends_list ON bulk_sends (app_id, tenant_id, id);

CREATE TABLE bulk_send_rows (
    id           uuid PRIMARY KEY,
    bulk_send_id uuid NOT NULL REFERENCES bulk_sends (id),
    position     integer NOT NULL, -- from 1
    external_id  text,
    status       text NOT NULL,
    data         text NOT NULL, -- encrypted: what the envelope is made from; empty once it was sent or cancelled
    envelope_id  uuid,
    error_code   text NOT NULL DEFAULT '',
    error        text NOT NULL DEFAULT '',
    settled_at   timestamptz,
    reserved_in  text NOT NULL DEFAULT '' -- usage period
);
-- A row of the request is a row here, and is sent as one envelope.
CREATE UNIQUE INDEX bulk_send_rows_position ON bulk_send_rows (bulk_send_id, position);
CREATE UNIQUE INDEX bulk_send_rows_envelope ON bulk_send_rows (envelope_id) WHERE envelope_id IS NOT NULL;
CREATE INDEX bulk_send_rows_status ON bulk_send_rows (bulk_send_id, status, position);

-- Envelopes of bulk sends that count against the plan and are not sent yet.
ALTER TABLE usage ADD COLUMN reserved integer NOT NULL DEFAULT 0;
