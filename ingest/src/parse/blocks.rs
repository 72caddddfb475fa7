//! The scripts of Vue and Svelte components.
//!
//! Everything around the scripts is blanked out, so that what a parser says of the rest has the positions of the
//! original. All blocks of a component share one scope when they are compiled, so they are one module here too. One
//! pass, whatever the markup: what is not closed ends it.

use crate::language::Language;

/// A component's scripts.
pub(super) struct Script {
    /// As many bytes as the component, blank but for the scripts.
    pub(super) text: String,
    /// What it is written in.
    pub(super) language: Language,
}

/// The scripts of a component; nothing for other languages.
pub(super) fn script(language: Language, text: &str) -> Option<Script> {
    let svelte = match language {
        Language::Vue => false,
        Language::Svelte => true,
        _ => return None,
    };
    let mut scan = Scan { text, bytes: text.as_bytes(), svelte, blocks: Vec::new() };
    scan.run();
    let mut out: Vec<u8> = text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { byte } else { b' ' }).collect();
    let (mut typed, mut jsx) = (false, false);
    for block in &scan.blocks {
        out[block.start..block.end].copy_from_slice(&scan.bytes[block.start..block.end]);
        // In place of the closing tag's `</`: neither a comment nor a statement goes on into the next block.
        out[block.end..block.end + 2].copy_from_slice(b"\n;");
        typed |= block.typed;
        jsx |= block.jsx;
    }
    let language = match (typed, jsx) {
        (true, true) => Language::Tsx,
        (true, false) => Language::TypeScript,
        (false, _) => Language::Jsx,
    };
    // Blocks start and end at ASCII characters, so that no character is cut.
    Some(Script { text: String::from_utf8(out).ok()?, language })
}

/// The content of a script and what it is written in.
struct Block {
    start: usize,
    end: usize,
    typed: bool,
    jsx: bool,
}

/// An opening tag.
struct Tag<'t> {
    name: &'t str,
    lang: Option<&'t str>,
    kind: Option<&'t str>,
    elsewhere: bool,
    closed: bool,
    end: usize,
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    svelte: bool,
    blocks: Vec<Block>,
}

impl<'t> Scan<'t> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(byte) = self.bytes.get(at) {
            at = match byte {
                b'<' => self.markup(at).unwrap_or(self.bytes.len()),
                b'{' if self.svelte => self.behind_braces(at).unwrap_or(self.bytes.len()),
                _ => at + 1,
            };
        }
    }

    /// Goes behind a tag, and behind the content of those whose content is no markup of the component; nothing where
    /// that has no end.
    fn markup(&mut self, at: usize) -> Option<usize> {
        if self.opens_comment(at) {
            return self.behind_comment(at);
        }
        if !self.opens_tag(at) {
            return Some(at + 1);
        }
        let tag = self.tag(at)?;
        if tag.closed {
            return Some(tag.end);
        }
        if tag.name.eq_ignore_ascii_case("script") {
            let end = self.closing(tag.end, tag.name)?;
            self.blocks.extend(tag.block(end));
            return Some(end + 2);
        }
        if self.svelte {
            // What is put into a page's head is not of the component.
            let raw = tag.name.eq_ignore_ascii_case("style") || tag.name == "svelte:head";
            return if raw { self.closing(tag.end, tag.name) } else { Some(tag.end) };
        }
        let is_markup = tag.name == "template" && tag.lang.is_none_or(|lang| lang == "html");
        if is_markup { self.behind_template(tag.end) } else { self.closing(tag.end, tag.name) }
    }

    fn opens_comment(&self, at: usize) -> bool {
        self.bytes[at..].starts_with(b"<!--")
    }

    /// Behind the comment that starts here, if it ends.
    fn behind_comment(&self, at: usize) -> Option<usize> {
        Some(at + 4 + self.text[at + 4..].find("-->")? + 3)
    }

    fn opens_tag(&self, at: usize) -> bool {
        self.bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic)
    }

    /// Where the tag starts that closes `name`.
    fn closing(&self, from: usize, name: &str) -> Option<usize> {
        let mut at = from;
        loop {
            at += self.text[at..].find("</")?;
            let behind = at + 2 + name.len();
            let is_it = self.bytes.get(at + 2..behind).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
            if is_it && self.bytes.get(behind).is_none_or(|byte| !is_name(*byte)) {
                return Some(at);
            }
            at += 2;
        }
    }

    /// Behind a Vue template, which can have templates in it.
    fn behind_template(&self, from: usize) -> Option<usize> {
        let mut at = from;
        let mut depth = 1_u32;
        loop {
            at += self.text[at..].find('<')?;
            if self.opens_comment(at) {
                at = self.behind_comment(at)?;
            } else if self.opens_tag(at) {
                let tag = self.tag(at)?;
                depth += u32::from(tag.name == "template" && !tag.closed);
                at = tag.end;
            } else if self.bytes[at..].starts_with(b"</template")
                && self.bytes.get(at + 10).is_none_or(|byte| !is_name(*byte))
            {
                depth -= 1;
                at += 10;
                if depth == 0 {
                    return Some(at);
                }
            } else {
                at += 1;
            }
        }
    }

    /// Reads the opening tag that starts here.
    fn tag(&self, start: usize) -> Option<Tag<'t>> {
        let name = self.until(start + 1, |byte| !is_name(byte))?;
        let mut tag =
            Tag { name: &self.text[start + 1..name], lang: None, kind: None, elsewhere: false, closed: false, end: 0 };
        let mut at = name;
        loop {
            at = self.until(at, |byte| !byte.is_ascii_whitespace())?;
            match self.bytes.get(at)? {
                b'>' => return Some(Tag { end: at + 1, ..tag }),
                b'/' if self.bytes.get(at + 1) == Some(&b'>') => {
                    return Some(Tag { end: at + 2, closed: true, ..tag });
                }
                b'{' if self.svelte => at = self.behind_braces(at)?,
                _ => {
                    let is_end = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/');
                    let end = self.until(at + 1, is_end)?;
                    let attribute = self.text.get(at..end).unwrap_or_default();
                    at = self.until(end, |byte| !byte.is_ascii_whitespace())?;
                    let mut value = "";
                    if self.bytes.get(at) == Some(&b'=') {
                        at = self.until(at + 1, |byte| !byte.is_ascii_whitespace())?;
                        (value, at) = self.value(at)?;
                    }
                    match attribute {
                        "lang" => tag.lang = Some(value),
                        "type" => tag.kind = Some(value),
                        "src" => tag.elsewhere = true,
                        _ => {}
                    }
                }
            }
        }
    }

    /// The value of an attribute, without quotes, and what is behind it.
    fn value(&self, start: usize) -> Option<(&'t str, usize)> {
        let quote = self.bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        let inside = start + usize::from(quote.is_some());
        let mut at = inside;
        loop {
            let byte = *self.bytes.get(at)?;
            let is_end = quote.map_or(byte.is_ascii_whitespace() || byte == b'>', |quote| byte == quote);
            if is_end {
                return Some((self.text.get(inside..at)?, at + usize::from(quote.is_some())));
            }
            at = if byte == b'{' && self.svelte { self.behind_braces(at)? } else { at + 1 };
        }
    }

    /// Behind the expression in braces that starts here.
    fn behind_braces(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut depth = 0_u32;
        loop {
            match *self.bytes.get(at)? {
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                quote @ (b'"' | b'\'' | b'`') => at = self.end_of_string(at, quote)?,
                _ => {}
            }
            at += 1;
        }
    }

    /// Where a string ends: at its quote, or at the line's end where it cannot go on.
    fn end_of_string(&self, start: usize, quote: u8) -> Option<usize> {
        let mut at = start + 1;
        loop {
            match *self.bytes.get(at)? {
                b'\\' => at += 1,
                b'\n' if quote != b'`' => return Some(at),
                byte if byte == quote => return Some(at),
                _ => {}
            }
            at += 1;
        }
    }

    fn until(&self, from: usize, is_end: impl Fn(u8) -> bool) -> Option<usize> {
        self.bytes.get(from..)?.iter().position(|byte| is_end(*byte)).map(|at| from + at)
    }
}

impl Tag<'_> {
    /// The block that this tag opens, if it holds a script that is run from here.
    fn block(&self, end: usize) -> Option<Block> {
        let word = match (self.lang, self.kind) {
            (Some(lang), _) => lang,
            (None, Some(kind)) => kind.rsplit('/').next().unwrap_or(kind),
            (None, None) => "",
        };
        let (typed, jsx) = match word {
            "ts" | "typescript" => (true, false),
            "tsx" => (true, true),
            "" | "js" | "javascript" | "ecmascript" | "babel" | "module" => (false, false),
            "jsx" => (false, true),
            _ => return None,
        };
        (!self.elsewhere).then_some(Block { start: self.end, end, typed, jsx })
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, text: &str) -> (String, Language) {
        let script = script(language, text).unwrap();
        assert_eq!(script.text.len(), text.len());
        (script.text.split_whitespace().collect::<Vec<_>>().join(" "), script.language)
    }

    fn vue(text: &str) -> String {
        read(Language::Vue, text).0
    }

    fn svelte(text: &str) -> String {
        read(Language::Svelte, text).0
    }

    #[test]
    fn scripts_stay_where_they_are() {
        let text = "<template>é</template>\n<script setup lang=\"ts\">\nlet a = '😀'; b()\n</script>\n";
        let script = script(Language::Vue, text).unwrap();
        assert_eq!(script.language, Language::TypeScript);
        assert_eq!(script.text.find("b()"), text.find("b()"));
        assert_eq!(script.text.lines().nth(2), Some("let a = '😀'; b()"));
        assert!(super::script(Language::TypeScript, text).is_none());
    }

    #[test]
    fn every_block_counts_and_its_language_is_said() {
        for (text, expected) in [
            ("<script>a</script>", ("a ;", Language::Jsx)),
            ("<script>a</script><script setup lang='ts'>b</script>", ("a ; b ;", Language::TypeScript)),
            ("<SCRIPT lang=tsx >a</SCRIPT >", ("a ;", Language::Tsx)),
            ("<script lang=\"ts\" generic=\"T extends A<B>\" setup>a</script>", ("a ;", Language::TypeScript)),
            ("<script type=\"text/typescript\">a</script>", ("a ;", Language::TypeScript)),
            ("<script type=\"application/ld+json\">{}</script>", ("", Language::Jsx)),
            ("<script lang=\"coffee\">a</script>", ("", Language::Jsx)),
            ("<script src=\"./a.ts\" lang=\"ts\"></script>", ("", Language::Jsx)),
            ("<script src=\"./a.js\"/><script>b</script>", ("b ;", Language::Jsx)),
            ("<scripted>a</scripted>", ("", Language::Jsx)),
        ] {
            assert_eq!(read(Language::Vue, text), (expected.0.to_owned(), expected.1), "{text}");
        }
        assert_eq!(svelte("<script context=\"module\">a</script><p/><script>b</script>"), "a ; b ;");
        assert_eq!(svelte("<script module lang=\"ts\">a</script>"), "a ;");
    }

    #[test]
    fn what_looks_like_a_script_is_none() {
        assert_eq!(
            vue("<!-- <script>a</script> --><script>b('<script>')// <script>\n</script>"),
            "b('<script>')// <script> ;"
        );
        assert_eq!(vue("<template><template #x><script>a</script></template><script>b</script></template>"), "");
        assert_eq!(vue("<template><a :b=\"'</template>' > c\"/>{{ a < b }}</template><script>b</script>"), "b ;");
        assert_eq!(vue("<template lang=\"pug\">\ntemplate(#a)\n  | <template>\n</template><script>b</script>"), "b ;");
        assert_eq!(vue("<docs>`<script>a</script>`</docs><script>b</script>"), "b ;");
        assert_eq!(vue("<style>/* <script>a</script> */</style><script>b</script>"), "b ;");
        assert_eq!(svelte("<svelte:head><script>a</script></svelte:head><script>b</script>"), "b ;");
        assert_eq!(svelte("{@html `<script>a</script>`}<script>b</script>"), "b ;");
        assert_eq!(svelte("<p on:x={() => a > '<script>'} {...b}>{'}<script>'}</p><script>b</script>"), "b ;");
        assert_eq!(svelte("<p title=\"{a ? \"<script>\" : '>'}\">it's</p><script>b</script>"), "b ;");
    }

    #[test]
    fn what_is_not_closed_ends_it() {
        for text in [
            "<script>a",
            "<script",
            "<script lang=\"ts>a</script>",
            "<!-- <script>a</script>",
            "<",
            "<script>a</scrip",
            "<template><script>a</script>",
            "<script>a</script",
            "",
        ] {
            vue(text);
            svelte(text);
        }
        assert_eq!(vue("<script>a</script><script>b"), "a ;");
        assert_eq!(vue("<script>a</script"), "a ;");
        assert_eq!(svelte("<script>a</script>{ '<script>b</script>"), "a ;");
    }

    #[test]
    fn hostile_markup_is_gone_through_once() {
        for piece in
            ["<script>", "<script>a</script>", "<a \"", "<a b='", "{`\\`", "{", "<template>", "</", "<!--", "<é"]
        {
            let text = piece.repeat((512 << 10) / piece.len());
            vue(&text);
            svelte(&text);
            vue(&format!("<template>{text}"));
        }
        let many = "<script>a()</script>\n".repeat(100_000);
        assert_eq!(script(Language::Svelte, &many).unwrap().text.matches("a()").count(), 100_000);
    }
}
