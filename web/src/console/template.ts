/** A template as returned in lists of the API. */
export interface TemplateSummary { id: string; tenantId: string | null; externalId: string | null; name: string; version: number; createdBy: string; createdAt: string; updatedAt: string; archivedAt: string | null }
interface TemplateRole { role: string; kind: string; routingOrder: number; authMethod: string; witnessFor: string | null }
export interface Template extends TemplateSummary {
  subject: string | null; message: string | null; variables: string[]; roles: TemplateRole[]; fields: { role: string; type: string; name: string }[];
  documents: { id: string; name: string; pageCount: number; size: number }[]; versions: { version: number; createdBy: string; createdAt: string }[];
}
