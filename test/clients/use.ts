// What an application writes against the generated types.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({ baseUrl: "https://sign.example.com" });

export async function send(id: string): Promise<components["schemas"]["Envelope"]> {
  const { data, error } = await client.POST("/v1/envelopes/{id}/send", {
    params: { path: { id }, header: { "Idempotency-Key": "one" } },
    body: { message: null },
  });
  if (error) throw new Error(error.errors["message"]?.join() ?? error.message);
  return data;
}

export async function completed(tenantId: string): Promise<number> {
  const { data } = await client.GET("/v1/envelopes", { params: { query: { tenantId, status: "completed", pageSize: 100 } } });
  return data?.total ?? 0;
}
