#!/bin/sh
# Rebuilds the bundled fonts with fonttools from the Debian packages fonts-noto-core, fonts-droid-fallback, fonts-nanum,
# fonts-symbola and fonts-hanazono. It drops hinting and unused tables, and keeps the shaping tables that a script
# needs. Run it in this directory.
set -eu
noto=${NOTO:-/usr/share/fonts/truetype/noto}
droid=${DROID:-/usr/share/fonts/truetype/droid}
nanum=${NANUM:-/usr/share/fonts/truetype/nanum}
symbola=${SYMBOLA:-/usr/share/fonts/truetype/ancient-scripts}
hanazono=${HANAZONO:-/usr/share/fonts/truetype/hanazono}
python=${PYTHON:-/usr/bin/python3}
tables='DSIG,gasp,FFTM,vhea,vmtx,kern,hdmx,VDMX,LTSH,PCLT,meta'

# subset SOURCE TARGET UNICODES [TABLES TO DROP]
subset() {
	pyftsubset "$1" --output-file="$2" --unicodes="$3" --no-hinting --notdef-outline \
		--layout-features='*' --drop-tables+="$tables${4:-}" --name-IDs='0,1,2,4,5,6,13,14'
}

# Latin with Vietnamese and phonetic letters, Greek, Cyrillic, punctuation, currency signs, letter-like symbols,
# fractions, arrows and mathematical symbols.
latin=U+0000-04FF,U+0500-052F,U+1AB0-1AFF,U+1C80-1C8F,U+1D00-1DFF,U+1E00-1FFF,U+2000-20CF,U+2100-218F,U+2190-22FF,U+25A0-25FF,U+2C60-2C7F,U+2DE0-2DFF,U+A640-A69F,U+A720-A7FF,U+FB00-FB06,U+FE20-FE2F,U+FFFD
subset "$noto/NotoSans-Regular.ttf" NotoSans-Regular.ttf "$latin"
subset "$noto/NotoSans-Bold.ttf" NotoSans-Bold.ttf "$latin"
for script in Arabic Hebrew Devanagari Thai Armenian Georgian Bengali Tamil Telugu Gujarati Gurmukhi Kannada Malayalam Sinhala Khmer Lao Myanmar Ethiopic; do
	subset "$noto/NotoSans$script-Regular.ttf" "NotoSans$script-Regular.ttf" '*'
done
subset "$noto/NotoSansMath-Regular.ttf" NotoSansMath-Regular.ttf U+2190-22FF ,GSUB,GPOS,GDEF,MATH
subset "$noto/NotoSansSymbols2-Regular.ttf" NotoSansSymbols2-Regular.ttf U+2300-23FF,U+2500-27BF
subset "$noto/NotoMono-Regular.ttf" NotoMono-Regular.ttf U+0020-007E,U+00A0-00FF,U+2010-2026
# Ideographs, kana and CJK punctuation, which need no shaping.
subset "$droid/DroidSansFallbackFull.ttf" DroidSansFallback.ttf '*' ,GSUB,GPOS,GDEF
# Hangul. The font is renamed, because its license reserves the name for the unmodified font.
subset "$nanum/NanumSquareR.ttf" CountersignHangul-Regular.ttf U+0020,U+00A0,U+1100-11FF,U+3130-318F,U+AC00-D7A3 ,GSUB,GPOS,GDEF
# Emoji and symbols, in one color.
subset "$symbola/Symbola_hint.ttf" Symbola.ttf U+1F000-1FAFF,U+20E3,U+2600-27BF,U+2B00-2BFF ,GSUB,GPOS,GDEF,MATH
# Ideographs outside the Basic Multilingual Plane that occur in names. They include those of the Japanese and Hong Kong
# standards, and variants in family names that neither standard contains. The font is renamed for the same reason.
"$python" - >hanb.txt <<'END'
def known(c):
    for codec in ("euc_jis_2004", "big5hkscs"):
        try:
            return bool(chr(c).encode(codec))
        except UnicodeEncodeError:
            pass
variants = {0x20628, 0x20BB7, 0x2123D, 0x21A4B, 0x233D0, 0x2363A, 0x23CFE, 0x25C4B, 0x28A99, 0x2A190}
print("\n".join(f"U+{c:X}" for c in range(0x20000, 0x30000) if known(c) or c in variants))
END
pyftsubset "$hanazono/HanaMinB.ttf" --output-file=CountersignHanB-Regular.ttf --unicodes-file=hanb.txt --no-hinting \
	--notdef-outline --drop-tables+="$tables,GSUB,GPOS,GDEF" --name-IDs='0,1,2,4,5,6,13,14'
rm hanb.txt
"$python" - <<'END'
from fontTools.ttLib import TTFont
def rename(short, reserved):
    file = f"Countersign{short.replace(' ', '')}-Regular.ttf"
    font = TTFont(file, recalcTimestamp=False)
    for id, name in ((1, f"Countersign {short}"), (4, f"Countersign {short}"), (6, file[:-4])):
        font["name"].setName(name, id, 3, 1, 0x409)
        font["name"].setName(name, id, 1, 0, 0)
    for record in list(font["name"].names):
        if record.nameID in (1, 4, 6) and any(word in record.toUnicode() for word in reserved):
            font["name"].removeNames(nameID=record.nameID, platformID=record.platformID, langID=record.langID)
    font.save(file)

rename("Hangul", ["Nanum"])
rename("Han B", ["Hana", "花園"])
END
