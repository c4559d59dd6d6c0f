// Saves a text as a file.

export interface SavedFile {
  name: string;
  type: string;
  text: string;
}

export function saveFile({ name, type, text }: SavedFile) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url));
}
