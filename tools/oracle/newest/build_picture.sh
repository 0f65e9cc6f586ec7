#!/bin/sh
# Builds the program that asks llama.cpp about pictures and sounds, .oracle/newest/picture, with the objects that
# build_voice.sh leaves: convolutions read f32 in it, which llama.cpp rounds to f16. Six files are compiled anew: the
# width of LFM2-Audio's encoder, 512 in llama.cpp, is what the file says; of LLaVA's rows those of all patches are
# taken, where llama.cpp takes the class token's in place of the first; and its overview stands before its tiles;
# slices of MiniCPM-V are stretched, where llama.cpp pads them, as for MiniCPM-V 4.6; Granite Speech's projector has
# the exact GELU, as in the model's own code, where llama.cpp has the tanh form; frames of Parakeet behind the sound are
# 0, as in the model's own code, where llama.cpp scales them as it does the others; sizes of DeepSeek-OCR's images are what
# the file says, and its second table of positions is resized as a table, with the class token first, where llama.cpp
# takes the values of a row for columns.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
flags="-std=c++17 -O1 -w -Isrc/include -Isrc/ggml/include -Isrc/ggml/src -Isrc/vendor -I$sources -I$sources/models"
mkdir -p picture-objects
sed -e 's/auto d_model = 512/auto d_model = hparams.n_embd/' \
  -e 's/int patch_offset = model.class_embedding ? 1 : 0/int patch_offset = 0/' \
  -e '/if (hparams.minicpmv_version == 0) {/i hparams.image_pad_ov = hparams.image_pad_rf = PAD_NONE;' \
  -e '/case PROJECTOR_TYPE_DEEPSEEKOCR2:/,/KEY_SAM_N_BLOCK/{/hparams.patch_size = 16/d;/hparams.image_size = 1024/d;}' \
  -e 's/hparams.preproc_tile_size = 640/hparams.preproc_tile_size = hparams.image_size * 5 \/ 8/' \
  "$sources/clip.cpp" > picture-objects/clip.cpp
sed 's/GGML_TYPE_F32, 512, n_pos_embd/GGML_TYPE_F32, n_embd, n_pos_embd/' "$sources/models/conformer.cpp" \
  > picture-objects/conformer.cpp
sed '/bool has_pinpoints = .*image_res_candidates/a ov_img_first = has_pinpoints;' "$sources/mtmd.cpp" \
  > picture-objects/mtmd.cpp
sed '/Apply to ALL frames/{n;s/{/{ if (i >= valid_frames) { out_full.data[j * out_full.n_len + i] = 0; continue; }/}' \
  "$sources/mtmd-audio.cpp" > picture-objects/mtmd-audio.cpp
sed 's/FFN_GELU, il/FFN_GELU_ERF, il/' "$sources/models/granite-speech.cpp" > picture-objects/granite-speech.cpp
sed -e '/old_pos_embd = ggml_view_2d/,/ggml_row_size/c old_pos_embd = ggml_cont(ctx0, ggml_transpose(ctx0, ggml_view_2d(ctx0, new_pos_embd, new_pos_embd->ne[0], src_size * src_size, new_pos_embd->nb[1], new_pos_embd->nb[1]))); old_pos_embd = ggml_reshape_4d(ctx0, old_pos_embd, src_size, src_size, new_pos_embd->ne[0], 1);' \
  -e '/cls_tok      = ggml_view_2d/,/ggml_row_size/c cls_tok = ggml_view_2d(ctx0, new_pos_embd, new_pos_embd->ne[0], 1, new_pos_embd->nb[1], 0);' \
  -e 's/new_pos_embd = ggml_reshape_3d(ctx0, new_pos_embd, n_embd, tgt_size \* tgt_size, 1);/new_pos_embd = ggml_cont(ctx0, ggml_transpose(ctx0, ggml_reshape_2d(ctx0, new_pos_embd, tgt_size * tgt_size, n_embd)));/' \
  -e 's/new_pos_embd = ggml_concat(ctx0, new_pos_embd, cls_tok, 1)/new_pos_embd = ggml_concat(ctx0, cls_tok, new_pos_embd, 1)/' \
  "$sources/models/deepseekocr.cpp" > picture-objects/deepseekocr.cpp
for name in clip conformer deepseekocr granite-speech mtmd mtmd-audio; do g++ $flags -c picture-objects/$name.cpp -o picture-objects/$name.cpp.o & done
wait
others=$(ls voice-objects/*.o | grep -v -e /clip.cpp.o -e /conformer.cpp.o -e /granite-speech.cpp.o -e /deepseekocr.cpp.o \
  -e /mtmd.cpp.o -e /mtmd-audio.cpp.o)
g++ $flags "$here/picture.cpp" picture-objects/*.o $others \
  build/src/libllama.a build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a \
  -lpthread -ldl -o picture
