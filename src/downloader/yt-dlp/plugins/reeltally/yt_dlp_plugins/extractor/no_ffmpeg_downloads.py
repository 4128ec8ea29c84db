"""Refuses downloads by ffmpeg.

The engine falls back to them for streams that it cannot read itself. Ffmpeg reaches no network here, so they only fail, but its
command line, which process lists show, would hold the cookies of the platform.
"""

from yt_dlp.downloader.external import FFmpegFD


def refuse(downloader, filename, info):
    return 1


FFmpegFD._call_downloader = refuse
