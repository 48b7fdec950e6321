[ "$1" = server ] || exec weed "$@"
shift
exec weed -logtostderr=true server -dir=/data -volume.max=0 -master.volumeSizeLimitMB=1024 "$@"
