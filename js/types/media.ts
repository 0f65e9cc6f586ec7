/**
 * Images, videos and sounds in messages. No code here.
 */
/** An image in a message; the model must be loaded with {@link LoadOptions.mmproj}. */
export interface ImagePart {
  /** What kind of part it is. */
  readonly type: 'image';
  /** The image, or where it is. */
  readonly image: ImageSource;
}

/**
 * An image: a file (PNG, JPEG, WebP and what else the browser decodes) as `File`, `Blob`, bytes or URL, or what has
 * pixels: `ImageData`, `ImageBitmap`, a canvas, `<img>`, `<video>` (its frame) or `VideoFrame`.
 */
export type ImageSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | URL
  | ImageData
  | CanvasImageSource
  | { readonly width: number; readonly height: number; readonly data: Uint8Array | Uint8ClampedArray };

/**
 * A video in a message, as frames, of which each has a time; the model must be loaded with {@link LoadOptions.mmproj}.
 */
export interface VideoPart {
  /** What kind of part it is. */
  readonly type: 'video';
  /** The video, or where it is; or its frames. */
  readonly video: VideoSource;
  /** Frames of a second, at most: above 0, up to 60. Default 2. */
  readonly fps?: number | undefined;
  /** Frames, at most, from 1 to 768. A video that has more gives this number, evenly spaced. Default 32. */
  readonly maxFrames?: number | undefined;
}

/**
 * A video: a file (MP4, WebM and what else the browser plays) as `File`, `Blob`, bytes or URL, which a page decodes; or
 * frames from anywhere, such as `VideoDecoder`, in the order of their times: these need no page.
 */
export type VideoSource = Blob | Uint8Array | ArrayBuffer | string | URL | readonly VideoImage[];

/** A frame of a video. */
export interface VideoImage {
  /** What is seen. */
  readonly image: ImageSource;
  /** Seconds since the beginning. */
  readonly time: number;
}

/** A sound in a message; the model must be loaded with {@link LoadOptions.mmproj}. */
export interface AudioPart {
  /** What kind of part it is. */
  readonly type: 'audio';
  /** The sound, or where it is. */
  readonly audio: AudioSource;
}

/**
 * A sound: a file (WAV everywhere; MP3, Ogg and what else the browser decodes in a page) as `File`, `Blob`, bytes or
 * URL, an `AudioBuffer`, or samples of one channel.
 */
export type AudioSource =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | URL
  // `AudioBuffer`, for which the library `webworker` of TypeScript has no name.
  | {
      readonly sampleRate: number;
      readonly numberOfChannels: number;
      readonly length: number;
      getChannelData(channel: number): Float32Array;
    }
  | { readonly samples: Float32Array; readonly sampleRate: number };
