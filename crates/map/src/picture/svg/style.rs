//! Colours and marks. The apps have the colours of Okabe and Ito, which people with any colour vision can distinguish;
//! numbers and outlines carry the same information.

use std::fmt::Write as _;

use super::block::{Block, plain};

/// Number of colours; further apps use them again, with a broken outline.
pub(super) const COLOURS: usize = 8;

/// The style sheet. It has classes instead of variables, which many viewers do not know.
pub(super) const SHEET: &str = "\
text{font-family:system-ui,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1b1f24}
.bg{fill:#ffffff}
svg{background:#ffffff}
.t{font-size:20px;font-weight:600}
.h{font-size:14px;font-weight:600}
.n{font-size:13px;font-weight:500}
.m{font-size:12px;fill:#57606a}
.g{font-size:11px;fill:#57606a}
.c{font-size:10px;fill:#6a737d;text-anchor:middle}
.w{font-size:12px;fill:#9a4a00}
.l{font-size:11px;font-weight:600;fill:#10151b;text-anchor:middle}
.v{fill:#ffffff}
.card{fill:#f6f8fa;stroke:#d0d7de}
.k0{fill:#ffffff;stroke:#b8c0ca}
.k1{fill:#f3f5f8;stroke:#cdd4dc}
.core{fill:#e9edf2}
.f{fill:#ffffff;stroke:#cdd4dc}
.x{fill:#dfe3e8;stroke:#c3cad2}
.xx{fill:none;stroke:#9aa4af;stroke-width:1.3}
.r{stroke:#10151b;stroke-opacity:.45}
.s{stroke-opacity:1;stroke-width:2}
.d{stroke-dasharray:4 3;stroke-opacity:1}
.a0{fill:#56b4e9}
.a1{fill:#e69f00}
.a2{fill:#12a97e}
.a3{fill:#cc79a7}
.a4{fill:#f0e442}
.a5{fill:#e06c1f}
.a6{fill:#0072b2}
.a7{fill:#b3bac3}
.a8{fill:#ffffff}
@media (prefers-color-scheme:dark){
text{fill:#e8ecf1}
.bg{fill:#0d1117}
svg{background:#0d1117}
.m,.g{fill:#9aa5b1}
.c{fill:#8b96a3}
.w{fill:#f0b366}
.l{fill:#10151b}
.v{fill:#ffffff}
.card{fill:#151b23;stroke:#3d444d}
.k0{fill:#0d1117;stroke:#4a535e}
.k1{fill:#151b23;stroke:#3d444d}
.core{fill:#232b35}
.f{fill:#0d1117;stroke:#3d444d}
.x{fill:#2a313a;stroke:#3d444d}
.xx{stroke:#6b7682}
.r{stroke:#e8ecf1}
}
";

/// Returns the class of an app's colour.
pub(super) fn colour(app: usize) -> String {
    let again = if app >= COLOURS { " d" } else { "" };
    format!("a{}{again}", app % COLOURS)
}

/// Returns the class of a label on that colour.
pub(super) fn label(app: usize) -> &'static str {
    if app % COLOURS == 6 { "l v" } else { "l" }
}

pub(super) fn swatch(app: usize) -> Block {
    let mut body = format!("<rect class=\"r {}\" width=\"26\" height=\"18\" rx=\"4\"/>", colour(app));
    let _ = write!(body, "<text class=\"{}\" x=\"13\" y=\"13\">{app}</text>", label(app));
    Block { w: 26, h: 18, body }
}

/// Returns the legend of all marks except colours.
pub(super) fn marks() -> Vec<Block> {
    let mark = |body: String, text: &str| {
        let text = plain("m", 12, text);
        Block { w: 34 + text.w, h: 18, body: format!("{body}{}", text.at(34, 1)) }
    };
    let rect =
        |class: &str| format!("<rect class=\"{class}\" x=\"0.5\" y=\"0.5\" width=\"25\" height=\"17\" rx=\"3\"/>");
    vec![
        mark(
            rect("r a7") + "<text class=\"l\" x=\"13\" y=\"13\">3</text>",
            "the rank that is bound here; above it the core's number",
        ),
        mark(rect("r a7 s") + "<text class=\"l\" x=\"13\" y=\"13\">3,7</text>", "shared by several ranks"),
        mark(rect("f"), "free"),
        mark(rect("x") + "<path class=\"xx\" d=\"M3 15L23 3\"/>", "not available"),
    ]
}
