// Shows Markdown that strangers wrote: marked's tokens become elements. No HTML of theirs gets into the page, nothing
// is loaded, and no link leads anywhere but to the web or to a mailbox.

import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChildren, VNode } from "preact";
import { useMemo } from "preact/hooks";

import { WebLink } from "./web-link";

/**
 * Longest text that is read as Markdown, in UTF-16 units; a longer one is shown as it is. Real ones have up to 34,000.
 */
export const MAX_MARKDOWN = 100_000;

/** Nesting that is shown as such, of quotes, lists and emphasis; what is deeper is shown as it is written. */
export const MAX_DEPTH = 24;

/** Openers of emphasis, links and the like in a line that is almost only such; reading more takes quadratic time. */
const MAX_OPENERS = 800;

/** Quotes and lists that begin in one line within one another; reading more takes quadratic time. */
const TOO_MANY_MARKERS = /^(?:[ \t]*(?:[-*+>]|\d+[.)])){100}/m;

/** `level` is that of its highest headings: one below that of the heading above it. */
export function Markdown({ text, level }: { text: string; level: number }) {
  const content = useMemo(() => toNodes(text, level), [text, level]);
  return (
    <div class="markdown" dir="auto">
      {content}
    </div>
  );
}

/** The elements of a text, or the text itself where it is too long or too deep to be read. */
export function toNodes(text: string, level: number): ComponentChildren {
  const plain = <p class="markdown-plain">{text}</p>;
  if (text.length > MAX_MARKDOWN || isHostile(text)) return plain;
  try {
    return new Writer(level).blocks(new Lexer({ gfm: true }).lex(text), 0);
  } catch (error) {
    // The lexer itself recurses: a text that is deeper than its stack has no structure worth showing.
    if (error instanceof RangeError) return plain;
    throw error;
  }
}

/** Whether no author would write it and reading it would take quadratic time. */
function isHostile(text: string): boolean {
  if (TOO_MANY_MARKERS.test(text)) return true;
  return text.split("\n").some((line) => {
    const openers = line.match(/[>[\](*_~`!<|\\-]/g)?.length ?? 0;
    return openers > MAX_OPENERS && openers * 4 > line.length;
  });
}

class Writer {
  /** Depth of the highest heading of the text, which gets `level`. */
  private highest = 6;
  /** Level of the heading before: a heading is at most one below it. */
  private previous: number;

  constructor(private readonly level: number) {
    this.previous = level - 1;
  }

  blocks(tokens: readonly Token[], depth: number): ComponentChildren[] {
    if (depth === 0) {
      const depths = tokens.flatMap((token) => (token.type === "heading" ? [(token as Tokens.Heading).depth] : []));
      this.highest = Math.min(6, ...depths);
    }
    return tokens.map((token) => this.block(token, depth));
  }

  private block(token: Token, depth: number): ComponentChildren {
    if (depth > MAX_DEPTH) return token.raw;
    const inline = (tokens: Token[] | undefined) => this.inline(tokens ?? [], depth + 1);
    const known = token as MarkedToken;
    switch (known.type) {
      case "space":
      case "def":
        return null;
      case "hr":
        return <hr />;
      case "heading":
        // An empty one would be a place that screen readers go to for nothing.
        return known.text.trim() === "" ? null : this.heading(known, inline(known.tokens));
      case "paragraph":
        return <p>{inline(known.tokens)}</p>;
      case "code":
        return (
          <pre>
            <code>{known.text}</code>
          </pre>
        );
      case "blockquote":
        return <blockquote>{this.blocks(known.tokens, depth + 1)}</blockquote>;
      case "list":
        return this.list(known, depth);
      case "table":
        return this.table(known, depth);
      case "html":
        return /^<!--[^]*-->\s*$/.test(known.raw) ? null : <p class="markdown-plain">{known.raw.trim()}</p>;
      default:
        return this.inline([token], depth + 1);
    }
  }

  private heading({ depth }: Tokens.Heading, content: ComponentChildren): VNode {
    this.previous = Math.min(this.level + depth - this.highest, this.previous + 1, 6);
    const Heading = `h${this.previous}` as "h3";
    return <Heading>{content}</Heading>;
  }

  private list({ ordered, start, items }: Tokens.List, depth: number): VNode {
    const content = items.map((item) => <li>{this.blocks(item.tokens, depth + 1)}</li>);
    return ordered ? <ol start={Number(start) || 1}>{content}</ol> : <ul>{content}</ul>;
  }

  private table({ header, rows }: Tokens.Table, depth: number): VNode {
    const cells = (row: Tokens.TableCell[]) => row.map(({ tokens }) => <td>{this.inline(tokens, depth + 1)}</td>);
    return (
      <div class="scrolling" tabIndex={0} role="group" aria-label="Table">
        <table>
          <thead>
            <tr>
              {header.map(({ tokens }) => (
                <th scope="col">{this.inline(tokens, depth + 1)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr>{cells(row)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  private inline(tokens: readonly Token[], depth: number): ComponentChildren[] {
    return tokens.map((token) => this.span(token, depth));
  }

  private span(token: Token, depth: number): ComponentChildren {
    if (depth > MAX_DEPTH) return token.raw;
    const known = token as MarkedToken;
    const inner = (tokens: readonly Token[]) => this.inline(tokens, depth + 1);
    switch (known.type) {
      case "strong":
        return <strong>{inner(known.tokens)}</strong>;
      case "em":
        return <em>{inner(known.tokens)}</em>;
      case "del":
        return <del>{inner(known.tokens)}</del>;
      case "codespan":
        return <code>{known.text}</code>;
      case "br":
        return <br />;
      case "checkbox":
        return known.checked ? "☑ " : "☐ ";
      case "link":
        return <WebLink href={known.href}>{inner(known.tokens)}</WebLink>;
      case "image":
        return <WebLink href={known.href}>{decoded(known.text) || known.href}</WebLink>;
      case "html":
        if (/^<br *\/?>$/i.test(known.raw)) return <br />;
        return /^<!--[^]*-->$/.test(known.raw) ? null : known.raw;
      case "escape":
        return known.text;
      case "text":
        return "tokens" in known && known.tokens ? inner(known.tokens) : decoded(known.text);
      default:
        return token.raw;
    }
  }
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  rarr: "→",
};

/** The lexer reads references to characters by number and leaves those by name. */
function decoded(text: string): string {
  return text.replace(/&(\w{1,16});/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
