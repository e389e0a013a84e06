/** The response of a target. */
export interface DeliveryAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body, or its text if it is not JSON. */
  readonly body: unknown;
  readonly text: string;
}

/** The answer with this text, read where it is JSON. */
export function deliveryAnswer(status: number, headers: Headers, text: string): DeliveryAnswer {
  return { status, headers, text, body: parsed(text) };
}

/** A header that stands several times keeps all its values. */
export function headersOf(values: Readonly<Record<string, unknown>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) headers.append(name, String(one));
    }
  }
  return headers;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
