/** Values that must not leave the cluster. In the objects that the guard gathers, only a mistake can put them there. */
const SECRETS = [
  // JSON Web Tokens, such as those of service accounts, and OAuth tokens of OpenShift.
  /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g,
  /\bsha256~[\w-]{20,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
  /(?<=\bauthorization\W{1,4}basic\s+)[\w+/=-]+/gi,
  // User and password, or a token, of a URL such as that of a proxy.
  /(?<=:\/\/)[^\s/?#"']+(?=@)/g,
];

/** PEM as in a Secret. Certificates stay. */
const BASE64_PEM = /\bLS0tLS1CRUdJTi[\w+/]+=*/g;

/** Replaces bearer tokens, basic credentials, private keys and the passwords of URLs. */
export function redact(text: string): string {
  const readable = text.replaceAll(BASE64_PEM, redactKey);
  return SECRETS.reduce((rest, pattern) => rest.replaceAll(pattern, '<redacted>'), readable);
}

function redactKey(pem: string): string {
  return Buffer.from(pem, 'base64').includes('PRIVATE KEY-----') ? '<redacted>' : pem;
}
