/** What the bundle offers: `mount(element, document)` for pages, `figure(document)` for a picture. */
export { unpack } from "./document";
export type { Packed } from "./document";
export { mount } from "./viewer";
export type { Options, Viewer } from "./viewer";
